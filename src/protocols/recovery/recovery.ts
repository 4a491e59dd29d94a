/**
 * Fault recovery: Omega+ with the fault manager on top. Each step runs Omega+ first; when the view, the life of this node
 * or its quorum changed, the manager learns it.
 *
 * The manager requires a majority of all nodes (quorum `static`): the views in which it acts intersect, so an entry that
 * a majority has persisted is never lost. Messages of the manager travel over the same links, reliable and in order while
 * a link is up. A link that comes up again makes the leader ask all members again.
 */
import {
  type Effect,
  equalPlain,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type Protocol,
  persist,
  type Step,
  type View,
} from '../../core/index.ts'
import {
  type GroupView,
  jobsOf,
  MANAGER_KINDS,
  MANAGER_TIMERS,
  type ManagerCommand,
  type ManagerInput,
  type ManagerMessage,
  type ManagerSettings,
  type ManagerState,
  startManager,
  stepManager,
} from '../../recovery/manager/index.ts'
import { omega } from '../omega/omega.ts'
import { isInQuorum } from '../omega/quorum.ts'
import type { OmegaSettings } from '../omega/settings.ts'
import type { OmegaCommand, OmegaMessage, OmegaStable, OmegaState } from '../omega/state.ts'
import type { RecoveryCommand, RecoveryMessage, RecoveryStable, RecoveryState } from './state.ts'

type RecoveryStep = Step<RecoveryState, RecoveryMessage, RecoveryStable>
type RecoveryEffect = Effect<RecoveryMessage, RecoveryStable>

const OMEGA_COMMANDS: readonly string[] = ['campaign', 'stepDown'] satisfies readonly OmegaCommand['do'][]
const KINDS: ReadonlySet<string> = new Set(MANAGER_KINDS)

export type RecoverySettings = {
  readonly omega: OmegaSettings
  readonly manager: Omit<ManagerSettings, 'self' | 'nodes'>
}

export function recovery(
  identity: Identity,
  settings: RecoverySettings,
): Protocol<RecoveryState, RecoveryMessage, RecoveryCommand, RecoveryStable> {
  const lower = omega(identity, settings.omega)
  const managing: ManagerSettings = { ...settings.manager, ...identity }

  const show = viewer()

  function groupView(state: OmegaState, now: Micros): GroupView | null {
    if (!state.ok) return null
    const { token, leader } = lower.view(state, now)
    if (token === null || leader === null) return null
    const inQuorum = isInQuorum(state, identity, settings.omega)
    return { token, leader, members: state.view.members, inQuorum }
  }

  function stepUpper(
    manager: ManagerState,
    below: OmegaState,
    input: ManagerInput,
    effects: RecoveryEffect[],
    now: Micros,
  ): ManagerState {
    const links = below.links.map(({ peer }) => peer)
    const step = stepManager(managing, manager, input, links, now)
    effects.push(...step.effects)
    return step.state
  }

  /** One `persist` of both parts comes before all other effects. */
  function finish(
    before: RecoveryState | null,
    after: RecoveryState,
    effects: RecoveryEffect[],
  ): RecoveryStep {
    const others = effects.filter(({ type }) => type !== 'persist')
    const isSameTable = before !== null && equalPlain(before.manager.stable, after.manager.stable)
    const isStored = others.length === effects.length && isSameTable
    const state =
      before !== null && before.omega === after.omega && equalPlain(before.manager, after.manager)
        ? before
        : after
    if (isStored) return { state, effects: others.length === 0 ? NOTHING : others }
    const stable = { omega: stableOf(after.omega), manager: after.manager.stable }
    return { state, effects: [persist(stable), ...others] }
  }

  /** A step of Omega+, and what follows from it above. */
  function stepBelow(
    state: RecoveryState,
    input: Input<OmegaMessage, OmegaCommand>,
    now: Micros,
  ): RecoveryStep {
    const below = lower.step(state.omega, input, now)
    const effects: RecoveryEffect[] = []
    for (const effect of below.effects)
      effects.push(effect.type === 'persist' ? persist(stableAs(effect.stable, state)) : effect)
    const manager =
      below.state === state.omega ? state.manager : learn(state, below.state, input, effects, now)
    return finish(state, { omega: below.state, manager }, effects)
  }

  function learn(
    { omega: was, manager }: RecoveryState,
    is: OmegaState,
    input: Input<OmegaMessage, OmegaCommand>,
    effects: RecoveryEffect[],
    now: Micros,
  ): ManagerState {
    let next = manager
    const view = groupView(is, now)
    if (is.life !== manager.life || !equalPlain(view, manager.view))
      next = stepUpper(next, is, { type: 'view', view, life: is.life }, effects, now)
    const isNewLink = input.type === 'link' && input.up && !was.links.some(({ peer }) => peer === input.peer)
    if (isNewLink) next = stepUpper(next, is, { type: 'linkUp', peer: input.peer }, effects, now)
    return next
  }

  function stepAbove(state: RecoveryState, input: ManagerInput, now: Micros): RecoveryStep {
    const effects: RecoveryEffect[] = []
    const manager = stepUpper(state.manager, state.omega, input, effects, now)
    return finish(state, { omega: state.omega, manager }, effects)
  }

  return {
    start(stable, now) {
      const below = lower.start(stable?.omega ?? null, now)
      const manager = startManager(stable?.manager ?? null, below.state.life)
      const effects = below.effects.filter((effect) => effect.type !== 'persist')
      return finish(null, { omega: below.state, manager }, effects)
    },
    step(state, input, now) {
      if (input.type === 'timer' && MANAGER_TIMERS.includes(input.name))
        return stepAbove(state, { type: 'timer', name: input.name }, now)
      if (input.type === 'command' && !OMEGA_COMMANDS.includes(input.command.do))
        return stepAbove(state, { type: 'command', command: input.command as ManagerCommand }, now)
      if (input.type === 'message' && KINDS.has(input.body.kind)) {
        // A message over a link that is down belongs to no incarnation of the link.
        if (!state.omega.links.some(({ peer }) => peer === input.from)) return { state, effects: NOTHING }
        const body = input.body as ManagerMessage
        return stepAbove(state, { type: 'message', from: input.from, body }, now)
      }
      return stepBelow(state, input as Input<OmegaMessage, OmegaCommand>, now)
    },
    view: (state, now) => show(lower.view(state.omega, now), state.manager),
    shift: (state) => state,
    settled(outcome, now) {
      const below = lower.settled?.(outcome, now) ?? lower.start(null, now)
      const effects: RecoveryEffect[] = below.effects.filter((effect) => effect.type !== 'persist')
      const { life } = below.state
      const view = groupView(below.state, now)
      const manager = stepUpper(
        startManager(null, life),
        below.state,
        { type: 'view', view, life },
        effects,
        now,
      )
      return finish(null, { omega: below.state, manager }, effects)
    },
  }
}

function stableOf({ life, view, promised, formed, attempts }: OmegaState): OmegaStable {
  return { life, view, promised, formed, attempts }
}

function stableAs(omegaStable: OmegaStable, { manager }: RecoveryState): RecoveryStable {
  return { omega: omegaStable, manager: manager.stable }
}

/** Memoized: worlds ask for the view at every step, and most steps do not change it. */
function viewer(): (below: View, manager: ManagerState) => View {
  let last: { readonly below: View; readonly manager: ManagerState; readonly view: View } | null = null
  return (below, manager) => {
    const { stable, step, slots, leader, unrecorded, isReady } = manager
    const before = last?.manager
    const isSameTable =
      before !== undefined &&
      before.stable.table === stable.table &&
      before.unrecorded === unrecorded &&
      before.leader?.phase === leader?.phase &&
      before.leader?.columns === leader?.columns
    const isSame =
      isSameTable &&
      last?.below === below &&
      before.stable.fence === stable.fence &&
      before.step === step &&
      before.isReady === isReady &&
      before.slots === slots
    if (isSame && last !== null) return last.view
    const jobs = isSameTable && last !== null ? (last.view.detail?.['jobs'] ?? []) : jobsOf(manager)
    const detail = { ...below.detail, jobs, fence: stable.fence, step, slots, ready: isReady }
    const view = { ...below, detail }
    last = { below, manager, view }
    return view
  }
}
