import { styleText } from 'node:util'
import type { Problem } from '../core/index.js'
import { problemText } from '../core/index.js'

export type Colour = 'red' | 'green' | 'yellow' | 'dim'

/** The text in a colour, where colour is wanted. */
export function paint(text: string, colour: Colour, wanted: boolean): string {
  // Asked here and not of the stream: the terminal has decided already.
  return wanted ? styleText(colour, text, { validateStream: false }) : text
}

/** Columns as wide as their widest cell, two spaces between, nothing after the last. */
export function table(
  rows: readonly (readonly string[])[],
  style: (cell: string, column: number, row: number) => string = cell => cell,
): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)))
  }
  const line = (row: readonly string[], at: number) =>
    row
      .map((cell, column) => {
        const gap = column === row.length - 1 ? '' : ' '.repeat((widths[column] ?? 0) - cell.length + 2)
        return style(cell, column, at) + gap
      })
      .join('')
      .trimEnd()
  return rows.map((row, at) => `${line(row, at)}\n`).join('')
}

/** `1 object`, `2 objects`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** One line for each problem. */
export function problemLines(problems: readonly Problem[], colour: boolean): string {
  return problems
    .map(problem => {
      const severity = paint(problem.severity, problem.severity === 'error' ? 'red' : 'yellow', colour)
      return `${severity}: ${problemText(problem)}\n`
    })
    .join('')
}
