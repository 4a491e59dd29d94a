/** What real processes need to run the protocol. */
import type { PlainObject } from '../../core/index.ts'
import type { Asked, PeerHosting, Problem } from '../hosting.ts'
import { timingOf } from './constants.ts'
import { localLeaderGroup, timingFor } from './group.ts'
import { insightOf } from './insight.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'
import { localLeaderPlanning } from './planning.ts'
import { recoverLocalLeader } from './recover.ts'
import { forgetfulStable } from './stable.ts'
import { localLeaderWire } from './wire.ts'

/** Options that have a field of their own in what a process is told, or that only the workbench understands. */
const OWN_FIELDS: { readonly [option: string]: string } = {
  mode: 'give `mode` instead',
  profile: 'give `profile` instead',
  sticky: 'give `sticky` instead',
  priorities: 'give `priority` instead, on each node its own',
  yieldWhenTold: 'real processes always do: take it out',
  requests: 'is for searches of every interleaving: take it out',
  link: 'real processes have fail-aware datagrams: take it out',
  hostedGroup: 'is how a recording names its group: take it out',
}

function optionsFor(asked: Asked): { readonly options: object } | Problem {
  const given = asked.options ?? {}
  for (const [option, problem] of Object.entries(OWN_FIELDS)) {
    if (given[option] !== undefined) return { field: `options.${option}`, problem }
  }
  const { id, mode = 'majority', profile = 'lan', sticky = true, priority = 0 } = asked
  return {
    options: {
      ...given,
      mode,
      profile,
      sticky,
      // Work ends before the leadership is given away.
      yieldWhenTold: true,
      priorities: { [id]: priority },
      ...(asked.observer === true ? { observers: withName(given['observers'], id) } : {}),
      ...(asked.witness === true ? { witnesses: withName(given['witnesses'], id) } : {}),
    },
  }
}

function withName(list: unknown, id: string): unknown {
  if (list === undefined) return [id]
  return Array.isArray(list) && !list.includes(id) ? [...(list as unknown[]), id] : list
}

const own = (options: PlainObject): LocalLeaderOptions => options as unknown as LocalLeaderOptions

export const localLeaderHosting: PeerHosting = {
  name: 'local-leader',
  needs: 'peers',
  summary: 'leases',
  optionsFor,
  problemWith: () => null,
  leaseLength(options, nodes) {
    const chosen = own(options)
    const { lease, tries, tryTime, collection } = timingOf(givenBy(chosen, votersIn(chosen, nodes).length))
    return { lease, margin: tries * tryTime - collection }
  },
  withoutLease: null,
  recordedOptions: (group) => ({ link: 'hosted', hostedGroup: group }),
  forensics: null,
  planning: localLeaderPlanning,
  wire: localLeaderWire,
  fixedNodes: null,
  listsRoles: true,
  group: (identity, options) => localLeaderGroup(identity, own(options)),
  insight: ({ nodes }, options, state, now) =>
    insightOf(state, nodes, timingFor(own(options), nodes.length), now),
  modeOf: (options) => own(options).mode,
  forgetfulStable: ({ self, nodes }, options, moment) =>
    forgetfulStable(self, votersIn(own(options), nodes), moment),
  recovery: {
    isOwn: (stable) => stable === null || typeof stable !== 'object' || 'incarnation' in stable,
    recover: (stable, { self, moment, above, voters }) =>
      recoverLocalLeader(stable, { self, moment, above, voters }),
  },
}
