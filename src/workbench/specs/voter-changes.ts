import type { Micros, NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { sameSet } from './memory/connections.ts'
import { isMajority, leadsNow, memberTest, sameMembers } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** One set of voters, or two while they change: then a leader needs a majority of each. */
type Config = {
  readonly id: readonly [epoch: number, counter: number]
  readonly sets: readonly (readonly NodeId[])[]
}

/** What a leader was last seen to act under, and until when it then led. */
type Acting = {
  readonly node: NodeId
  readonly token: number | null
  readonly until: Micros | null
  readonly config: Config
}

type Changes = {
  /** Of all leaders. */
  readonly last: Acting | null
  /** The newest configuration under which a leader has renewed its lease. */
  readonly firm: Config | null
  readonly wrong: string | null
}

/**
 * Two configurations that follow each other have a set in common, so a majority under one meets every majority under
 * the other. That is what a joint configuration is for.
 *
 * A renewal writes the configuration to a majority: from then on nobody leads under an older one. Somebody may have
 * been elected under a newer one that was written to few; its successor need not have heard of that.
 */
export const voterChanges: Spec<Changes> = {
  name: 'voter-changes',
  title: 'leaders hold a majority of their voters, and voters change only through a joint configuration',
  source: 'joint configurations as in Raft; the paper has none',
  when: 'always',
  fold: {
    begin: () => ({ last: null, firm: null, wrong: null }),
    next(memory, seen) {
      const config = configOf(seen)
      if (config === null || seen.type !== 'view') return memory
      const { last, firm, wrong } = memory
      const { node, until } = seen
      const { token } = seen.view
      if (last !== null && last.node === node && last.until === until && last.config === config) return memory
      const renews = last !== null && last.node === node && last.token === token && isLater(until, last.until)
      const isFirmer = renews && (firm === null || compareConfigs(config, firm) > 0)
      return {
        last: { node, token, until, config },
        firm: isFirmer ? config : firm,
        wrong: wrong ?? (last === null ? null : whyWrong(config, last.config, firm)),
      }
    },
  },
  judge({ wrong }, seen) {
    if (wrong !== null) return { violated: wrong }
    const config = configOf(seen)
    if (config === null || seen.type !== 'view') return 'not concerned'
    const supports = memberTest(seen.view.members ?? [])
    const lacking = config.sets.find((set) => !isMajority(set, supports))
    if (lacking === undefined) return 'held'
    const support = (seen.view.members ?? []).join(', ')
    return {
      violated: `${seen.node} leads with the support of {${support}}, no majority of {${lacking.join(', ')}}`,
    }
  },
}

/** What a leader shows that it acts under; null for whoever does not lead, or shows none. */
function configOf(seen: Observation): Config | null {
  if (seen.type !== 'view' || seen.view.detail === null || !leadsNow(seen)) return null
  return (seen.view.detail['config'] ?? null) as Config | null
}

function isLater(until: Micros | null, before: Micros | null): boolean {
  return until !== null && before !== null && until > before
}

function whyWrong(config: Config, last: Config, firm: Config | null): string | null {
  if (firm !== null && compareConfigs(config, firm) < 0) {
    return `a leader acts under configuration ${text(config)}, after one has renewed under ${text(firm)}`
  }
  if (compareConfigs(config, last) === 0) {
    if (sameSets(config, last)) return null
    return `configuration ${config.id.join('.')} is both ${sets(last)} and ${sets(config)}`
  }
  const isLinked = config.sets.some((set) => last.sets.some((other) => sameSet(set, other)))
  return isLinked ? null : `voters went from ${sets(last)} to ${sets(config)}, with no set in common`
}

function compareConfigs({ id: a }: Config, { id: b }: Config): number {
  return a[0] - b[0] || a[1] - b[1]
}

function sameSets(a: Config, b: Config): boolean {
  if (a.sets === b.sets) return true
  if (a.sets.length !== b.sets.length) return false
  return a.sets.every((set, place) => {
    const other = b.sets[place] ?? []
    return sameMembers(set, other) || sameSet(set, other)
  })
}

function sets(config: Config): string {
  return config.sets.map((set) => `{${set.join(', ')}}`).join(' and ')
}

function text(config: Config): string {
  return `${config.id.join('.')}, ${sets(config)}`
}
