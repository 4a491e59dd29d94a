/** What must be so of everything that the witness has seen, whatever was done to the nodes. */
import type { Line } from './witness.ts'

type Seen = Pick<Line, 'id' | 'token' | 'pid' | 'did' | 'atMs'>

/** Every way in which the lines show two leaders at once, in words; none when all is well. */
export function judge(lines: readonly Seen[]): readonly string[] {
  const problems: string[] = []
  const holders = new Map<number, Seen>()
  let newest: Seen | null = null
  for (const line of lines) {
    const { id, token, pid, did } = line
    if (!Number.isSafeInteger(token) || token < 1) problems.push(`${nameOf(line)} has no proper token`)
    if (did === 'overlap') problems.push(overlapText(line, lines))
    if (newest !== null && token < newest.token)
      problems.push(`${nameOf(line)} wrote after ${nameOf(newest)} had begun`)
    else newest = line
    const holder = holders.get(token)
    if (holder === undefined) holders.set(token, line)
    else if (holder.id !== id || holder.pid !== pid)
      problems.push(`token ${token} has two holders: ${nameOf(holder)} and ${nameOf(line)}`)
  }
  return [...new Set(problems)]
}

function nameOf({ id, token, pid }: Seen): string {
  return `${id}'s command (token ${token}, process ${pid})`
}

function overlapText(line: Seen, lines: readonly Seen[]): string {
  const alone = lines.find(({ pid, did }) => pid === line.pid && did === 'alone')
  const forLong = alone === undefined ? '' : `, for about ${(alone.atMs - line.atMs).toFixed(0)} ms more`
  return `${nameOf(line)} began while another command was still there${forLong}`
}

/** How many leaderships the lines show. */
export function leaderships(lines: readonly Seen[]): number {
  return new Set(lines.map(({ token }) => token)).size
}
