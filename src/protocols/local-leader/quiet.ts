/**
 * Keeping quiet. As long as a leader renews and names those who supported its last round, these need not tell each
 * other all the time that they are there: the leader vouches for them. So a process that is led beats for its equals
 * only now and then, and for its leader only when it has not just answered it. It speaks up at the next beat when the
 * leader did not name it, or its rank is another, and at once when a renewal is overdue: before anybody gives the
 * leader up, all have heard each other again.
 *
 * Only where a majority is enough (majority mode, quorum rule): who is there then decides which process stands for
 * election, and never whether a leadership is safe. Elsewhere a leader depends on all that it hears.
 */
import { type Micros, type NodeId, setTimer } from '../../core/index.ts'
import { type Change, type Context, TIMER } from './context.ts'
import { thereAt } from './peers.ts'
import { changed, type LocalLeaderState, type Peer, withKnown } from './state.ts'

export type Quietness = ReturnType<typeof quietness>

export function quietness({ self, others, lowOf, settings, timing, isMajority }: Context) {
  const { heartbeat, quiet, lockTime, renewalInterval, fast, lateness, expires } = timing
  /**
   * A renewal that has not come after so long is overdue. Whoever then speaks up σ late is heard, Δ after that, Δ before
   * the leader is given up.
   */
  const patience = Math.min(renewalInterval + fast + lateness, expires - 2 * fast - lateness)
  const isPossible =
    isMajority &&
    settings.rule === 'quorum' &&
    settings.tree === null &&
    quiet > heartbeat &&
    patience >= renewalInterval

  /** A beat: to whom it goes, and the state after it. */
  function beat(state: LocalLeaderState, now: Micros): [LocalLeaderState, (to: NodeId) => boolean] {
    const { following } = state.known
    if (!isPossible || following === null || !isVouchedFor(state, now)) return [told(state, now), () => true]
    const { lock } = state.vote
    const answeredAt = lock !== null && lock.owner === following.leader ? lock.until - lockTime : null
    const isAnswered = answeredAt !== null && now - answeredAt < heartbeat
    const speaks = isNews(state, now)
    return [speaks ? told(state, now) : state, (to) => (to === following.leader ? !isAnswered : speaks)]
  }

  function isVouchedFor({ known, standing, campaign, lead }: LocalLeaderState, now: Micros): boolean {
    if (standing.candidate || campaign !== null || lead !== null) return false
    const { following } = known
    if (following === null || following.view === null || now - following.roundAt >= patience) return false
    return following.view.members.includes(self)
  }

  /** It is long ago that it told all how it stands, or it stands differently. Beats come as late as σ. */
  function isNews(state: LocalLeaderState, now: Micros): boolean {
    const { told: last, priority } = state.standing
    if (last === null || last.priority !== priority || last.low !== lowOf(state, now)) return true
    return now - last.at >= quiet - heartbeat / 2
  }

  function told(state: LocalLeaderState, now: Micros): LocalLeaderState {
    if (!isPossible) return state
    const { willing, priority, lowUntil, candidate, deferringSince, stoodAt } = state.standing
    const last = { low: lowOf(state, now), priority, at: now }
    return changed(state, {
      standing: { willing, priority, lowUntil, candidate, deferringSince, stoodAt, told: last },
    })
  }

  /** The leader says who answered the round that came here at `roundAt`: they were there, if they were of late. */
  function vouched(state: LocalLeaderState, members: readonly NodeId[], roundAt: Micros): LocalLeaderState {
    if (!isPossible) return state
    let peers: (Peer | null)[] | null = null
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (peer === null || !members.includes(id)) continue
      const heardAt = Math.min(roundAt, peer.saidAt + 2 * quiet)
      if (heardAt <= peer.heardAt) continue
      peers ??= state.known.peers.slice()
      peers[index] = thereAt(peer, heardAt)
    }
    return peers === null ? state : withKnown(state, { peers })
  }

  /** After a step that brought a renewal: when the next would be overdue. */
  function awaiting(before: LocalLeaderState, step: Change, now: Micros): Change {
    const { following } = step.state.known
    const isNew = following !== null && following.view !== null && following !== before.known.following
    if (!isPossible || !isNew || following.roundAt !== now) return step
    return { state: step.state, effects: [...step.effects, setTimer(TIMER.overdue, now + patience)] }
  }

  return { beat, vouched, awaiting }
}
