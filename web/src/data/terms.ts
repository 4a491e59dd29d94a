/** The leadership history as the page knows it: what the agent told, and what it told before it was restarted. */
import type { Term } from './types.ts'

const MOST_TERMS = 500

/** An agent that was restarted has forgotten the past: entries from before its own are kept. */
export function mergeHistory(known: readonly Term[], told: readonly Term[]): readonly Term[] {
  const [first] = told
  if (first === undefined) return known
  const before = known.filter(({ from }) => from < first.from)
  return [...closeLast(before, first.from), ...told].slice(-MOST_TERMS)
}

export function mergeTerm(known: readonly Term[], told: Term): readonly Term[] {
  const place = known.findIndex(({ from, number }) => from === told.from && number === told.number)
  if (place !== -1) return known.with(place, told)
  const before = known.filter(({ from }) => from < told.from)
  return [...closeLast(before, told.from), ...known.slice(before.length), told]
    .sort((a, b) => (a.from < b.from ? -1 : 1))
    .slice(-MOST_TERMS)
}

/** What lasted when something else began ended then. */
function closeLast(terms: readonly Term[], until: string): readonly Term[] {
  const last = terms.at(-1)
  return last === undefined || last.until !== null ? terms : [...terms.slice(0, -1), { ...last, until }]
}
