/** Explores every interleaving of a small world, as `conclave explore` does. */
import type { Definition, NodeId, PlainObject } from '../../../../src/core/index.ts'
import {
  type CutShort,
  type ExploreReport,
  explore,
  type SearchProgress,
} from '../../../../src/workbench/explore/index.ts'
import { checkedOptions } from '../../../../src/workbench/scenario/index.ts'
import { EngineError } from './engine-error.ts'
import type { Done, ExploreForm } from './messages.ts'
import type { Protocols } from './run.ts'

/** No search of a larger world ends. */
const MOST_NODES = 16
/** A page has less memory than a process. */
const MEMORY_MB = 1500

const CUT_SHORT: { readonly [why in CutShort]: string } = {
  violation: 'it found a violation',
  depth: 'it reached the bound on its depth',
  'max-states': 'it reached the bound on the number of states',
  memory: 'the states take too much memory',
  stopped: 'it was cancelled',
}

export type Clock = () => number

/** `now`: in milliseconds. */
export function exploreForm(
  form: ExploreForm,
  protocols: Protocols,
  now: Clock,
  onProgress: (progress: SearchProgress) => void,
): Done['explore'] {
  const began = now()
  const report = explore(settingsOf(form, protocols), {
    seconds: () => now() / 1000,
    shouldContinue(progress) {
      onProgress(progress)
      return true
    },
  })
  const { states, complete, cutShort } = report
  return {
    states,
    complete,
    cutShort: cutShort === null ? null : CUT_SHORT[cutShort],
    tookMs: now() - began,
    found: foundIn(report),
    progress: progressText(report),
  }
}

function settingsOf(form: ExploreForm, { lookup, specsFor }: Protocols): Parameters<typeof explore>[0] {
  const { protocol, nodes, crashes, recoveries, cuts, depth, maxStates } = form
  const definition = lookup.find(protocol)
  if (definition === null)
    throw new EngineError([{ place: 'protocol', message: `unknown protocol "${protocol}"` }])
  if (nodes.length > MOST_NODES || nodes.length < definition.leastNodes)
    throw new EngineError([
      {
        place: 'nodes',
        message: `use ${definition.leastNodes} to ${MOST_NODES} nodes to explore ${protocol}`,
      },
    ])
  const { exploration, order } = definition
  return {
    definition,
    ...optionsFor(definition, form),
    budget: { crashes, recoveries, flips: cuts, ticks: exploration.ticks },
    from: exploration.from,
    order,
    timers: exploration.timers,
    depth,
    maxStates,
    memoryMB: MEMORY_MB,
    progress: exploration.progress,
    ...specsFor(definition),
  }
}

/** The defaults of some protocols name nodes, and count them from 1. */
function optionsFor(
  definition: Definition,
  { nodes, options }: ExploreForm,
): { readonly nodes: readonly NodeId[]; readonly options: PlainObject } {
  const numbered = nodes.map((_, index) => index + 1)
  const check = (named: readonly NodeId[]): PlainObject =>
    checkedOptions(definition, named, { ...definition.exploration.options, ...options })
  try {
    return { nodes, options: check(nodes) }
  } catch (error) {
    try {
      return { nodes: numbered, options: check(numbered) }
    } catch {
      throw error
    }
  }
}

function foundIn({ counterexample }: ExploreReport): Done['explore']['found'] {
  if (counterexample === null) return null
  const { spec, why, steps, cycle, scenario } = counterexample
  const repeats =
    cycle === 0 ? '' : `; the last ${cycle === 1 ? 'step repeats' : `${cycle} steps repeat`} for ever`
  return { spec, why: `${why}${repeats}`, seed: null, scenario, schedule: steps }
}

function progressText({ progress }: ExploreReport): string {
  switch (progress.verdict) {
    case 'held':
      return 'from every state a settled state can be reached'
    case 'deadlock':
      return 'a state was reached in which only faults can happen'
    case 'livelock':
      return 'the nodes can go on for ever without settling'
    case 'not checked':
      return `not checked: ${progress.why}`
    default:
      return progress satisfies never
  }
}
