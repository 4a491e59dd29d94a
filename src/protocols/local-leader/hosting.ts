/** What real nodes need to run the protocol. */
import { microsOf, type PlainObject } from '../../core/index.ts'
import type { Asked, Chosen, PeerHosting } from '../hosting.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { localLeaderAssumptions } from './assumptions.ts'
import { timingOf } from './constants.ts'
import { localLeaderGroup, localLeaderHandOver, timingInState } from './group.ts'
import { insightOf } from './insight.ts'
import { leaseBoundsOf } from './lease-options.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'
import { localLeaderPlanning } from './planning.ts'
import { recoverLocalLeader } from './recover.ts'
import { forgetfulStable } from './stable.ts'
import type { LocalLeaderState } from './state.ts'
import { localLeaderWire } from './wire.ts'

/** Options that have a field of their own, would be ignored, or are for the workbench only. */
const OWN_FIELDS: { readonly [option: string]: string } = {
  mode: 'use the field `mode` instead',
  profile: 'use the field `profile` instead',
  sticky: 'use the field `sticky` instead',
  priorities: 'use the field `priority` on each node instead',
  yieldWhenTold: 'is always on in real nodes; remove it',
  requests: 'is for searches only; remove it',
  link: 'is for the workbench only; remove it, because real nodes use fail-aware datagrams',
  hostedGroup: 'is written by recordings only; remove it',
  levels: 'is for tests only; remove it',
}

function optionsFor(asked: Asked): Chosen {
  const given = asked.options ?? {}
  const problems = Object.entries(OWN_FIELDS)
    .filter(([option]) => given[option] !== undefined)
    .map(([option, message]) => ({ field: `options.${option}`, message }))
  if (problems.length > 0) return { problems }
  const { id, mode = 'majority', profile = 'lan', sticky = true, priority = 0 } = asked
  return {
    options: {
      ...given,
      mode,
      profile,
      sticky,
      // Work ends before the leader releases its lease.
      yieldWhenTold: true,
      priorities: { [id]: priority },
      ...(asked.observer === true ? { observers: withName(given['observers'], id) } : {}),
      ...(asked.witness === true ? { witnesses: withName(given['witnesses'], id) } : {}),
    } as PlainObject,
  }
}

function withName(list: unknown, id: string): unknown {
  if (list === undefined) return [id]
  return Array.isArray(list) && !list.includes(id) ? [...(list as unknown[]), id] : list
}

/** A node without storage may have granted any lock within its bounds. */
function longestLockOf(chosen: LocalLeaderOptions): number {
  return chosen.timing === 'fixed' ? 1 : microsOf(leaseBoundsOf(chosen).leaseMaxMs)
}

const own = (options: PlainObject): LocalLeaderOptions => options as unknown as LocalLeaderOptions

export const localLeaderHosting: PeerHosting = {
  name: 'local-leader',
  needs: 'peers',
  summary: 'leases',
  optionsFor,
  problemsWith: () => [],
  slackOptions: (profile) => (profile === 'lan' ? { sigmaMs: 60 } : {}),
  leaseLength(options, nodes) {
    const chosen = own(options)
    const voters = votersIn(chosen, nodes).length
    const adaptive = adaptiveTimingOf(chosen, voters)
    // With adaptive timing: the shortest lease.
    const timing =
      adaptive === null ? timingOf(givenBy(chosen, voters)) : adaptive.timingAt(adaptive.bounds.least)
    const { lease, tries, tryTime, collection } = timing
    return { lease, margin: tries * tryTime - collection }
  },
  assumptions: localLeaderAssumptions,
  withoutLease: null,
  recordedOptions: (group) => ({ link: 'hosted', hostedGroup: group }),
  ownOptions: ['priorities', 'sticky', 'holdDownMs', 'termMs'],
  forensics: null,
  planning: localLeaderPlanning,
  wire: localLeaderWire,
  fixedNodes: null,
  listsRoles: true,
  group: (identity, options) => localLeaderGroup(identity, own(options)),
  insight: ({ nodes }, options, state, now) =>
    insightOf(state, nodes, timingInState(own(options), nodes.length, state), now),
  handOverProblem: (identity, options, state, to, now) =>
    localLeaderHandOver(identity, own(options), state as LocalLeaderState, to, now),
  modeOf: (options) => own(options).mode,
  forgetfulStable: ({ self, nodes }, options, moment) =>
    forgetfulStable(self, votersIn(own(options), nodes), moment, longestLockOf(own(options))),
  recovery: {
    isOwn: (stable) => stable !== null && typeof stable === 'object' && 'incarnation' in stable,
    recover: (stable, { self, moment, above, voters }) =>
      recoverLocalLeader(stable, { self, moment, above, voters }),
  },
}
