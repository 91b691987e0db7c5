import { Fault } from '../core/index.js'

/** Asks a running Gatewright. Throws a Fault UNREACHABLE, or an Error with the text of its problem+json. */
export async function ask(
  server: string,
  path: string,
  query: Readonly<Record<string, string | readonly string[] | number | undefined>> = {},
): Promise<string> {
  const url = new URL(path, server.includes('://') ? server : `http://${server}`)
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

function detailOf(text: string): string {
  try {
    const { detail, title } = JSON.parse(text) as { detail?: string; title?: string }
    return detail ?? title ?? text
  } catch {
    return text
  }
}
