import type { Delta } from './delta.js'
import type { Sotw } from './sotw.js'
import type { TypeState } from './types.js'

/** What is told about one talk: status, the API and the CLI show it. */
export function typeState(talk: Sotw | Delta): TypeState {
  const refusal = refusalOf(talk)
  return {
    protocol: talk.protocol,
    subscribed: talk.subscription.wildcard ? '*' : talk.subscription.names.all.size,
    sentNonce: talk.nonce === 0 ? '' : String(talk.nonce),
    state: stateOf(talk, refusal !== undefined),
    ...(refusal && { refusal }),
  }
}

function stateOf(talk: Sotw | Delta, refused: boolean): TypeState['state'] {
  if (refused) return 'refused'
  if (talk.inFlight) return 'waiting'
  return talk.through > 0 ? 'synced' : 'idle'
}

function refusalOf(talk: Sotw | Delta): TypeState['refusal'] {
  if (talk.protocol === 'sotw') {
    if (talk.refusal === undefined) return undefined
    const { message, at, resources } = talk.refusal
    return { message, at, resources }
  }
  const [latest] = [...talk.refusals.values()].sort((a, b) => b.at - a.at)
  if (latest === undefined) return undefined
  const resources = [...talk.refusals.keys()].filter(name => name !== '').sort()
  return { message: latest.message, at: latest.at, resources }
}
