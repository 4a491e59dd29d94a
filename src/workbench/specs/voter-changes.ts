import type { Micros, NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { sameSet } from './memory/connections.ts'
import { isMajority, leadsNow, memberTest, sameMembers } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** One set of voters, or two during a change (joint consensus): a leader then needs a majority of each. */
type Config = {
  readonly id: readonly [epoch: number, counter: number]
  readonly sets: readonly (readonly NodeId[])[]
}

/** The configuration under which a leader was last seen acting, and the end of its lease then. */
type Acting = {
  readonly node: NodeId
  readonly token: number | null
  readonly until: Micros | null
  readonly config: Config
}

type Changes = {
  /** The last of all leaders. */
  readonly last: Acting | null
  /** The newest configuration under which a leader has renewed its lease. */
  readonly firm: Config | null
  readonly wrong: string | null
}

/**
 * Consecutive configurations share a set, so that every majority of one intersects every majority of the
 * other. That is the purpose of a joint configuration.
 *
 * A renewal writes the configuration to a majority. From then on no node leads under an older one. A node may
 * have been elected under a newer configuration that reached few nodes; its successor need not know it.
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

/** The configuration that a leader shows; null for a node that does not lead or shows none. */
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
