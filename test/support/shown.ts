/**
 * Compares the output of a command with what a document shows: the first shown line that is not printed, in order, or
 * null. A line `...` stands for any lines. A line that ends in ` ...` shows the beginning of a line.
 */
export function missingLine(shown: readonly string[], output: string): string | null {
  const lines = output.split('\n').map((line) => line.trimEnd())
  let from = 0
  for (const line of shown) {
    if (line.trim() === '...') continue
    const matches = (real: string): boolean =>
      line.endsWith(' ...') ? real.startsWith(line.slice(0, -4)) : real === line.trimEnd()
    const found = lines.findIndex((real, index) => index >= from && matches(real))
    if (found < 0) return line
    from = found + 1
  }
  return null
}
