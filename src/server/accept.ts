/**
 * The first of the offered media types that an Accept header prefers (RFC 9110 §12.5.1); no header takes the first
 * one, and undefined means that none is acceptable.
 */
export function acceptable(header: string | undefined, offered: readonly string[]): string | undefined {
  if (header === undefined || header.trim() === '') return offered[0]
  const ranges = header.split(',').map(rangeOf)
  const rated = offered.map(type => ({ type, quality: qualityOf(type, ranges) }))
  const best = Math.max(...rated.map(({ quality }) => quality))
  return best > 0 ? rated.find(({ quality }) => quality === best)?.type : undefined
}

interface Range {
  readonly range: string
  readonly quality: number
}

function rangeOf(text: string): Range {
  const [range = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const quality = Number(parameters.find(each => each.startsWith('q='))?.slice(2) ?? 1)
  return { range, quality: Number.isNaN(quality) ? 0 : quality }
}

/** The most specific range that matches decides. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const family = `${type.split('/', 1)[0] ?? ''}/*`
  for (const wanted of [type, family, '*/*']) {
    const found = ranges.find(({ range }) => range === wanted)
    if (found) return found.quality
  }
  return 0
}
