import { Fault } from '../core/index.js'
import { UsageError } from './context.js'

/** Asks a running Gatewright. Throws a UsageError for what is no address of one, a Fault UNREACHABLE, or an Error with the text of its problem+json. */
export async function ask(
  server: string,
  path: string,
  query: Readonly<Record<string, string | readonly string[] | number | undefined>> = {},
): Promise<string> {
  const url = endpoint(server, path)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? (value as string[]) : [String(value)]) {
      url.searchParams.append(name, one)
    }
  }
  const response = await fetch(url).catch((cause: unknown) => {
    throw new Fault('UNREACHABLE', `GET ${url.href} failed`, { cause })
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`GET ${url.href} answered ${response.status}: ${detailOf(text)}`)
  return text
}

function endpoint(server: string, path: string): URL {
  const base = server.includes('://') ? server : `http://${server}`
  if (!/^https?:/.test(base) || !URL.canParse(base)) {
    throw new UsageError(`--server ${server || "''"} is no address: give one like 127.0.0.1:15000`)
  }
  return new URL(path, base)
}

function detailOf(text: string): string {
  try {
    const { detail, title } = JSON.parse(text) as { detail?: string; title?: string }
    return detail ?? title ?? text
  } catch {
    return text
  }
}
