/**
 * Checks the safety promise on the lines of the witness: at most one command at a time, and tokens that only grow. It
 * imports no code of the project, so it cannot share a mistake with the code that it checks.
 */
type WitnessedLine = {
  readonly id: string
  readonly token: number
  readonly pid: number
  readonly action: string
  readonly atMs: number
}

/** One message per violation: overlapping commands, tokens out of order, or tokens with two holders. */
export function judge(lines: readonly WitnessedLine[]): readonly string[] {
  const problems: string[] = []
  const holders = new Map<number, WitnessedLine>()
  let newest: WitnessedLine | null = null
  for (const line of lines) {
    const { id, token, pid, action: did } = line
    if (!Number.isSafeInteger(token) || token < 1)
      problems.push(`${describeCommand(line)} has an invalid token`)
    if (did === 'overlap') problems.push(describeOverlap(line, lines))
    if (newest !== null && token < newest.token)
      problems.push(`${describeCommand(line)} wrote after ${describeCommand(newest)} had started`)
    else newest = line
    const holder = holders.get(token)
    if (holder === undefined) holders.set(token, line)
    else if (holder.id !== id || holder.pid !== pid)
      problems.push(`token ${token} has two holders: ${describeCommand(holder)} and ${describeCommand(line)}`)
  }
  return [...new Set(problems)]
}

function describeCommand({ id, token, pid }: WitnessedLine): string {
  return `${id}'s command (token ${token}, process ${pid})`
}

function describeOverlap(line: WitnessedLine, lines: readonly WitnessedLine[]): string {
  const alone = lines.find(({ pid, action: did }) => pid === line.pid && did === 'alone')
  const duration = alone === undefined ? '' : ` for about ${(alone.atMs - line.atMs).toFixed(0)} ms`
  return `${describeCommand(line)} started while another command was still running${duration}`
}

/** Number of terms in the lines. */
export function countTerms(lines: readonly WitnessedLine[]): number {
  return new Set(lines.map(({ token }) => token)).size
}
