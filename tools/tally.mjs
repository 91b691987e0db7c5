// Reads the TAP of a whole run, line by line: what failed, where, and how many assertions there were.

/** The line that a run ends with. */
export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`

/** Gathers a TAP stream of nested, unbuffered subtests, as tap's reporter `tap` prints it. */
export class Tally {
  /** Paths of names, from the file to the assertion, with the diagnostics of each. */
  failures = []
  #path = []
  #failedWithin = []
  #totals
  #diagnosing = false

  /** Answers what is worth printing at once: a file that ended, or nothing. */
  take(line) {
    if (this.#diagnose(line)) return undefined
    const [, indent = '', rest = ''] = /^( *)(.*)$/.exec(line)
    const depth = indent.length / 4
    const subtest = /^# Subtest: (.*)$/.exec(rest)
    if (subtest) {
      this.#path.length = depth
      this.#path[depth] = subtest[1]
      this.#failedWithin[depth] = false
      return undefined
    }
    const total = /^# (\{ total: .* \})$/.exec(rest)
    if (total && depth === 0) this.#totals = total[1]
    const point = /^(not )?ok \d+(?: - (.*?))?(?: # (SKIP|TODO|time=([\d.]+)ms).*)?$/.exec(rest)
    return point ? this.#point(depth, point) : undefined
  }

  /** The counts of the run; `code` is the exit code of the runner, whose failure is never lost. */
  counts(code) {
    const count = name => Number(new RegExp(`\\b${name}: (\\d+)`).exec(this.#totals ?? '')?.[1] ?? 0)
    const [passed, skipped] = [count('pass'), count('skip') + count('todo')]
    let failed = count('fail')
    const broken = code !== 0 || this.#totals === undefined || passed === 0
    if (failed === 0 && broken) {
      failed = 1
      const why = passed === 0 ? 'no assertion passed' : `it ended with exit code ${code}`
      this.failures.push({ path: ['the test runner'], lines: [why] })
    }
    return { passed, failed, skipped }
  }

  #point(depth, [, not, name = '', directive, time]) {
    const isSubtest = this.#path[depth] === name
    const counts = not !== undefined && directive !== 'SKIP' && directive !== 'TODO'
    if (counts && !(isSubtest && this.#failedWithin[depth])) {
      this.failures.push({ path: [...this.#path.slice(0, depth), name], lines: [] })
    }
    if (counts) for (let above = 0; above <= depth; above++) this.#failedWithin[above] = true
    if (isSubtest) this.#path.length = depth
    if (depth > 0) return undefined
    return { name, ok: !counts, ms: Number(time ?? 0) }
  }

  /** A failed point's YAML block belongs to the failure before it. */
  #diagnose(line) {
    if (/^ *---$/.test(line)) this.#diagnosing = true
    if (!this.#diagnosing) return false
    this.failures.at(-1)?.lines.push(line)
    if (/^ *\.\.\.$/.test(line)) this.#diagnosing = false
    return true
  }
}
