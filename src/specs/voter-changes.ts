import type { NodeId } from '../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { sameSet } from './connections.ts'
import { isMajority, leadsNow, memberTest, sameMembers } from './leases.ts'
import type { Spec } from './spec.ts'

/** One set of voters, or two while they change: then a leader needs a majority of each. */
type Config = {
  readonly id: readonly [epoch: number, counter: number]
  readonly sets: readonly (readonly NodeId[])[]
}

/** The configuration that a leader acted under last, of all leaders. */
type Changes = { readonly last: Config | null; readonly wrong: string | null }

/**
 * Two configurations that follow each other have a set in common, so a majority under one meets every majority under
 * the other. That is what a joint configuration is for.
 */
export const voterChanges: Spec<Changes> = {
  name: 'voter-changes',
  title: 'leaders hold a majority of their voters, and voters change only through a joint configuration',
  source: 'joint configurations as in Raft; the paper has none',
  when: 'always',
  fold: {
    begin: () => ({ last: null, wrong: null }),
    next(memory, seen) {
      const config = configOf(seen)
      if (config === null) return memory
      const { last, wrong } = memory
      if (last === null) return { last: config, wrong }
      const order = compareConfigs(config, last)
      if (order === 0 && sameSets(config, last)) return memory
      return { last: config, wrong: wrong ?? whyWrong(config, last, order) }
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

function whyWrong(config: Config, last: Config, order: number): string | null {
  if (order < 0) return `a leader acts under configuration ${text(config)}, after one under ${text(last)}`
  if (order === 0) return `configuration ${config.id.join('.')} is both ${sets(last)} and ${sets(config)}`
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
