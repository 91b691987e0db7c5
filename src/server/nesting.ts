/** Levels of a body; Kubernetes' own objects have a few dozen. What is deeper overflows the stack of whoever walks it. */
export const maxLevels = 512

const [quote, backslash, openArray, closeArray, openObject, closeObject] = [
  0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d,
]

/** Whether JSON text has more levels than `maxLevels`; text that is no JSON may be either. */
export function isTooDeep(text: string): boolean {
  let level = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === openObject || code === openArray) level++
    else if (code === closeObject || code === closeArray) level--
    if (level > maxLevels) return true
  }
  return false
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return text.length
}
