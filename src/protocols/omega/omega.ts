/**
 * Omega+: agreement before leadership. The corrected form of protocol Omega.
 *
 * Its result is a numbered view: who is alive, each under the number of its present life, and who leads them. A view
 * is installed once everybody in it has promised exactly this membership, so its leader may act on the failed. Whoever
 * is isolated, or finds a newer view without it, dies: it takes a new life and waits until the living take it in.
 *
 * The rules are in turn.ts, numbered as in README.md, which says where the paper's own form fails and why each rule is
 * needed. It needs links with a consistent history: both ends see the same ups and downs, frames belong to one
 * incarnation of the link, arrive in order, and are lost only together with it.
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
import { harmless, implausible } from './plausible.ts'
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
import { Turn } from './turn.ts'
import { idsOf, isNewer, membersOf, sameViewId } from './views.ts'

type OmegaStep = Step<OmegaState, OmegaMessage, OmegaStable>

/** The longest time that work which should have ended keeps the others waiting. */
const LAPSE = 'lapse'
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
      const turn = new Turn(identity, settings, state)
      if (input.up) turn.linkUp(input.peer)
      else turn.linkDown(input.peer)
      return turn.end()
    }
    if (input.type === 'command') return obey(state, input.command, now)
    if (input.type === 'timer') {
      const turn = new Turn(identity, settings, state)
      turn.campaigns(state.willing, !state.willing)
      return turn.end()
    }
    if (input.type === 'suspended') {
      // Nobody knows what became of the view while the clock stood still.
      const turn = new Turn(identity, settings, state)
      turn.leave()
      return turn.end()
    }
    if (input.type !== 'message') return { state, effects: NOTHING }
    const { from, body } = input
    // What comes over a link that is not up belongs to none of its incarnations.
    if (!state.links.some(({ peer }) => peer === from)) return { state, effects: NOTHING }
    const turn = new Turn(identity, settings, state)
    const wrong = implausible(identity, state, from, body)
    if (wrong === null) record(turn, from, body)
    else if (body.kind === 'status') record(turn, from, { kind: 'status', ...harmless(body) })
    const step = turn.end()
    if (wrong === null) return step
    const { field, problem } = wrong
    const refusal = output({ type: 'implausible', peer: from, field: `${body.kind}.${field}`, problem })
    return { state: step.state, effects: [...step.effects, refusal] }
  }

  function obey(state: OmegaState, command: OmegaCommand, now: Micros): OmegaStep {
    const turn = new Turn(identity, settings, state)
    switch (command.do) {
      case 'campaign': {
        const { willing, lapse } = command
        turn.campaigns(willing, willing ? false : !lapse || state.aside)
        const step = turn.end()
        const timer = !willing && lapse ? setTimer(LAPSE, now + LONGEST_LAPSE) : stopTimer(LAPSE)
        return { state: step.state, effects: [...step.effects, timer] }
      }
      case 'stepDown':
        if (state.ok && state.view.id[1] === self) {
          turn.leave()
          return turn.end()
        }
        return refused(state, command, 'this node does not lead')
      default:
        return refused(state, command, 'omega has no such command')
    }
  }

  function refused(state: OmegaState, command: { readonly do: string }, why: string): OmegaStep {
    return { state, effects: [output({ type: 'refused', command: command.do, why })] }
  }

  function record(turn: Turn, from: NodeId, body: OmegaMessage): void {
    switch (body.kind) {
      case 'status':
        turn.heardStatus(from, body)
        break
      case 'cand':
        turn.asked(from, body)
        break
      case 'cancel':
        turn.cancelled(from, body.n)
        break
      case 'accept':
        turn.accepted(from, body.n, body)
        break
      case 'attempt':
        turn.attempt(from, body.n)
        break
      case 'attempted':
        turn.attempted(from, body.n)
        break
      case 'withdraw':
        turn.withdrawn(from, body.n)
        break
      default:
        body satisfies never
    }
  }

  /** Whom the application should follow: a leader acts only while it is in quorum, and would. */
  function acting(state: OmegaState): NodeId | null {
    if (!state.ok) return null
    const leader = state.view.id[1]
    return leader === self && !(state.willing && isInQuorum(state, identity, settings)) ? null : leader
  }

  /** What a change means to the application: each view that this node leads is a leadership of its own. */
  function news(was: OmegaState, is: OmegaState): readonly Effect<never, never>[] {
    const [before, after] = [acting(was), acting(is)]
    const isSameView = sameViewId(was.view.id, is.view.id)
    if (before === after && (isSameView || after !== self)) return NOTHING
    const told: Effect<never, never>[] = []
    if (before === self)
      told.push(output({ type: 'demoted', token: tokenOf(was.view), cause: ending(was, is) }))
    if (after === self) told.push(output({ type: 'elected', token: tokenOf(is.view), cause: 'elected' }))
    else if (after !== null) told.push(output({ type: 'following', leader: after }))
    return told
  }

  function ending(was: OmegaState, is: OmegaState): string {
    if (!is.ok) return 'left the view'
    if (!sameViewId(was.view.id, is.view.id)) return 'another view'
    return is.willing ? 'out of quorum' : 'withdrew'
  }

  /** The last view shown: worlds ask at every step, and most steps are those of the links below. */
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
      // What it proposed before, it can no longer install.
      const attempts = kept.attempts.filter(({ id: [, proposer] }) => proposer !== self)
      const born: OmegaStable = { ...kept, life, attempts }
      const state: OmegaState = { ...born, ok: false, willing: true, aside: false, links: [], proposal: null }
      return { state, effects: [persist(born)] }
    },
    step(state, input, now) {
      const reacted = react(state, input, now)
      const next = unlessSame(state, reacted.state)
      const told = next === state ? NOTHING : news(state, next)
      return { state: next, effects: told.length === 0 ? reacted.effects : [...reacted.effects, ...told] }
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
      const state: OmegaState = { ...stable, ok: true, willing: true, aside: false, links, proposal: null }
      return { state, effects: [persist(stable), ...news({ ...state, ok: false }, state)] }
    },
  }
}
