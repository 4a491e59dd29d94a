/**
 * Omega+: agreement before leadership. The corrected form of protocol Omega.
 *
 * Nodes agree on a numbered view: the living nodes, each with the number of its current life (incarnation), and their
 * leader. A view is installed once all its members have promised exactly this membership. So the leader may act on the
 * nodes that failed. A node that is isolated, or that a newer view does not contain, dies: it takes a new life and waits
 * until the living nodes admit it.
 *
 * The rules are in transition.ts, numbered as in README.md. README.md also says where the paper's own form fails. The
 * protocol needs links with a consistent history: both ends see the same sequence of up and down; a frame belongs to one
 * incarnation of the link; frames arrive in order, and are lost only when the link goes down.
 *
 * Source: M. Franceschetti, J. Bruck, A Leader Election Protocol for Fault Recovery in Asynchronous Fully-Connected
 * Networks; dynamic voting after Jajodia and Mutchler, and Lotem, Keidar and Dolev.
 */
import {
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  type Outcome,
  output,
  type Protocol,
  persist,
  type Step,
  setTimer,
  sortIds,
  stopTimer,
  unlessSame,
  type View,
} from '../../core/index.ts'
import { findImplausible, neutralizeStatus } from './plausible.ts'
import { isInQuorum } from './quorum.ts'
import { byWeight, type OmegaSettings } from './settings.ts'
import {
  BRAND_NEW,
  MOST_LEADERS,
  NO_VIEW,
  type OmegaCommand,
  type OmegaMessage,
  type OmegaStable,
  type OmegaState,
  type OmegaView,
} from './state.ts'
import { Transition } from './transition.ts'
import { idsOf, isNewer, membersOf, sameViewId } from './views.ts'

type OmegaStep = Step<OmegaState, OmegaMessage, OmegaStable>

const LAPSE = 'lapse'
/** How long unfinished work of a leader that withdrew delays the next leader at most. */
export const LONGEST_LAPSE: Micros = 500_000

export function omega(
  identity: Identity,
  settings: OmegaSettings,
): Protocol<OmegaState, OmegaMessage, OmegaCommand, OmegaStable> {
  const { self, nodes } = identity
  const places = sortIds(nodes)

  function react(state: OmegaState, input: Input<OmegaMessage, OmegaCommand>, now: Micros): OmegaStep {
    if (input.type === 'link') {
      if (input.up === state.links.some(({ peer }) => peer === input.peer)) return { state, effects: NOTHING }
      const transition = new Transition(identity, settings, state)
      if (input.up) transition.handleLinkUp(input.peer)
      else transition.handleLinkDown(input.peer)
      return transition.finish()
    }
    if (input.type === 'command') return handleCommand(state, input.command, now)
    if (input.type === 'timer') {
      const transition = new Transition(identity, settings, state)
      transition.setCandidacy(state.willing, !state.willing)
      return transition.finish()
    }
    if (input.type === 'suspended') {
      // Other nodes may have formed the next view while the clock stood still.
      const transition = new Transition(identity, settings, state)
      transition.leaveView()
      return transition.finish()
    }
    if (input.type !== 'message') return { state, effects: NOTHING }
    const { from, body } = input
    // A message over a link that is down belongs to no incarnation of the link.
    if (!state.links.some(({ peer }) => peer === from)) return { state, effects: NOTHING }
    const transition = new Transition(identity, settings, state)
    const wrong = findImplausible(identity, state, from, body)
    if (wrong === null) handleMessage(transition, from, body)
    else if (body.kind === 'status')
      handleMessage(transition, from, { kind: 'status', ...neutralizeStatus(body) })
    if (wrong?.ceiling !== undefined) transition.raisePromise(wrong.ceiling)
    const step = transition.finish()
    if (wrong === null) return step
    const { field, problem } = wrong
    const refusal = output({ type: 'implausible', peer: from, field: `${body.kind}.${field}`, problem })
    return { state: step.state, effects: [...step.effects, refusal] }
  }

  function handleCommand(state: OmegaState, command: OmegaCommand, now: Micros): OmegaStep {
    const transition = new Transition(identity, settings, state)
    switch (command.do) {
      case 'campaign': {
        const { willing, lapse } = command
        transition.setCandidacy(willing, willing ? false : !lapse || state.isIneligible)
        const step = transition.finish()
        const timer = !willing && lapse ? setTimer(LAPSE, now + LONGEST_LAPSE) : stopTimer(LAPSE)
        return { state: step.state, effects: [...step.effects, timer] }
      }
      case 'stepDown':
        if (state.ok && state.view.id[1] === self) {
          transition.leaveView()
          return transition.finish()
        }
        return refuse(state, command, 'this node does not lead')
      default:
        return refuse(state, command, 'omega has no such command')
    }
  }

  function refuse(state: OmegaState, command: { readonly do: string }, why: string): OmegaStep {
    return { state, effects: [output({ type: 'refused', command: command.do, why })] }
  }

  function handleMessage(transition: Transition, from: NodeId, body: OmegaMessage): void {
    switch (body.kind) {
      case 'status':
        transition.handleStatus(from, body)
        break
      case 'cand':
        transition.handleCand(from, body)
        break
      case 'cancel':
        transition.handleCancel(from, body.n)
        break
      case 'accept':
        transition.handleAccept(from, body.n, body)
        break
      case 'attempt':
        transition.handleAttempt(from, body.n)
        break
      case 'attempted':
        transition.handleAttempted(from, body.n)
        break
      case 'withdraw':
        transition.handleWithdraw(from, body.n)
        break
      default:
        body satisfies never
    }
  }

  /** The leader that the application should follow. This node acts as leader only while it is willing and in quorum. */
  function findActingLeader(state: OmegaState): NodeId | null {
    if (!state.ok) return null
    const leader = state.view.id[1]
    return leader === self && !(state.willing && isInQuorum(state, identity, settings)) ? null : leader
  }

  /** Events for the application. Each view that this node leads is a separate term. */
  function reportLeaderChange(was: OmegaState, is: OmegaState): readonly Effect<never, never>[] {
    const [before, after] = [findActingLeader(was), findActingLeader(is)]
    const isSameView = sameViewId(was.view.id, is.view.id)
    if (before === after && (isSameView || after !== self)) return NOTHING
    const events: Effect<never, never>[] = []
    if (before === self)
      events.push(output({ type: 'demoted', token: tokenOf(was.view), cause: findDemotionCause(was, is) }))
    if (after === self) events.push(output({ type: 'elected', token: tokenOf(is.view), cause: 'elected' }))
    else if (after !== null) events.push(output({ type: 'following', leader: after }))
    return events
  }

  function findDemotionCause(was: OmegaState, is: OmegaState): string {
    if (!is.ok) return 'left the view'
    if (!sameViewId(was.view.id, is.view.id)) return 'another view'
    return is.willing ? 'out of quorum' : 'withdrew'
  }

  /** Memoized: worlds ask for the view at every step, and most steps are steps of the link layer. */
  let shown: { readonly state: OmegaState; readonly view: View } | null = null

  function viewOf(state: OmegaState): View {
    const { ok, life, view, formed, willing } = state
    const open = state.attempts.filter(({ id }) => isNewer(id, formed.id))
    const [n, leader] = view.id
    const seen = {
      id: view.id,
      members: idsOf(view.members),
      lives: view.members.map((member) => member[1]),
    }
    return {
      role: ok ? (leader === self ? 'leader' : 'follower') : 'dead',
      leader: ok ? leader : null,
      token: ok ? tokenOf(view) : null,
      until: null,
      members: ok ? seen.members : null,
      detail: {
        life,
        view: n === 0 ? null : seen,
        inQuorum: isInQuorum(state, identity, settings),
        attempts: open.map(({ id, members }) => ({ id, members: idsOf(members) })),
        willing,
      },
    }
  }

  function tokenOf({ id: [n, leader] }: OmegaView): number {
    return n * MOST_LEADERS + (leader === null ? 0 : places.indexOf(leader) + 1)
  }

  return {
    start(stable) {
      const kept = stable ?? BRAND_NEW
      const life = settings.rules.nextLife(kept.life)
      // A restarted node can no longer install what it proposed before.
      const attempts = kept.attempts.filter(({ id: [, proposer] }) => proposer !== self)
      const born: OmegaStable = { ...kept, life, attempts }
      const state: OmegaState = {
        ...born,
        ok: false,
        willing: true,
        isIneligible: false,
        links: [],
        proposal: null,
      }
      return { state, effects: [persist(born)] }
    },
    step(state, input, now) {
      const reacted = react(state, input, now)
      const next = unlessSame(state, reacted.state)
      const events = next === state ? NOTHING : reportLeaderChange(state, next)
      return { state: next, effects: events.length === 0 ? reacted.effects : [...reacted.effects, ...events] }
    },
    view(state) {
      if (shown?.state !== state) shown = { state, view: viewOf(state) }
      return shown.view
    },
    shift: (state) => state,
    settled({ leader, members }: Outcome) {
      const view: OmegaView = { id: [1, leader], members: membersOf(members.map((id) => [id, 1])) }
      const formed = settings.quorum === 'dynamic' ? view : NO_VIEW
      const stable: OmegaStable = { life: 1, view, promised: view.id, formed, attempts: [] }
      const peers = members.filter((id) => id !== self).sort(byWeight(settings.weights))
      const links = peers.map((peer) => ({
        peer,
        status: {
          life: 1,
          ok: true,
          view,
          promised: 1,
          formed,
          attempts: [],
          links: settings.filter ? members.filter((id) => id !== peer).sort(byWeight(settings.weights)) : [],
          torn: false,
          aside: false,
        },
        pending: null,
        accepted: 0,
      }))
      const state: OmegaState = {
        ...stable,
        ok: true,
        willing: true,
        isIneligible: false,
        links,
        proposal: null,
      }
      return { state, effects: [persist(stable), ...reportLeaderChange({ ...state, ok: false }, state)] }
    },
  }
}
