export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}
export function closingLine(counts: Counts): string
export class Tally {
  readonly failures: readonly { readonly path: readonly string[]; readonly lines: readonly string[] }[]
  take(line: string): { readonly name: string; readonly ok: boolean; readonly ms: number } | undefined
  counts(code: number): Counts
}
