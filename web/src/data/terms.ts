/** The leadership history as the page knows it: what the agent reports, and what it reported before it was restarted. */
import type { Term } from './types.ts'

const MOST_TERMS = 500

/** An agent that was restarted has forgotten the past: entries from before its own are kept. */
export function mergeHistory(known: readonly Term[], reported: readonly Term[]): readonly Term[] {
  const [first] = reported
  if (first === undefined) return known
  const before = known.filter(({ from }) => from < first.from)
  return [...closeLast(before, first.from), ...reported].slice(-MOST_TERMS)
}

export function mergeTerm(known: readonly Term[], reported: Term): readonly Term[] {
  const place = known.findIndex(({ from, number }) => from === reported.from && number === reported.number)
  if (place !== -1) return known.with(place, reported)
  const before = known.filter(({ from }) => from < reported.from)
  return [...closeLast(before, reported.from), ...known.slice(before.length), reported]
    .sort((a, b) => (a.from < b.from ? -1 : 1))
    .slice(-MOST_TERMS)
}

/** What lasted when something else began ended then. */
function closeLast(terms: readonly Term[], until: string): readonly Term[] {
  const last = terms.at(-1)
  return last === undefined || last.until !== null ? terms : [...terms.slice(0, -1), { ...last, until }]
}
