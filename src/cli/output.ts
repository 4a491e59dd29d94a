/** Data goes to standard output, everything said about it to standard error. */

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

export function narrate(line: string): void {
  process.stderr.write(`${line}\n`)
}

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

/** Colour only where a person looks, and not if they asked for none. */
export function paint(colour: keyof typeof COLOURS, text: string): string {
  const wanted = process.stdout.isTTY && process.env['NO_COLOR'] === undefined
  return wanted ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text
}

/** Columns aligned, no boxes. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** 1234567 as 1,234,567. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

export function timesText(value: number): string {
  return value === 1 ? 'once' : `${count(value)} times`
}
