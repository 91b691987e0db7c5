/**
 * Orders two resourceVersions of one kind: they are decimal numbers of any length without leading zeros
 * (KEP-5504). Versions of two kinds must not be compared: they may come from two databases.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}

/** The newer of two versions; a version is newer than none. */
export function newer(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return compareVersions(a, b) < 0 ? b : a
}

/** True when `version` is a resourceVersion that can be ordered. */
export function isVersion(version: string): boolean {
  return /^(0|[1-9][0-9]*)$/.test(version)
}
