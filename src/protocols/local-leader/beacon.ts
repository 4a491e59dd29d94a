/** Saying how one stands: in every message, to everybody. */
import { type Micros, type NodeId, send } from '../../core/index.ts'
import type { Context, Deed } from './context.ts'
import { type Herald, type LocalLeaderMessage, NO_EPOCH, type Release, type Request } from './messages.ts'
import { isAlive, laterEpoch } from './peers.ts'
import type { LocalLeaderState } from './state.ts'

const NO_HERALD: Herald = {
  candidate: true,
  low: 0,
  priority: 0,
  incumbent: false,
  heard: true,
  seen: NO_EPOCH,
  lease: null,
}

export type Heralding = ReturnType<typeof heralding>

export function heralding(context: Context) {
  const { self, others, placeOf, lowOf, latest, settings, timing } = context
  const { tree, mostRequests } = settings
  const { expires } = timing

  function heraldOf(state: LocalLeaderState, now: Micros, heard: boolean): Herald {
    if (mostRequests !== null) return NO_HERALD
    const { lead } = state
    const isLeader = lead !== null && now < lead.until
    return {
      candidate: state.standing.candidate,
      low: lowOf(state, now),
      priority: state.standing.priority,
      incumbent: settings.sticky && isLeader,
      heard,
      seen: laterEpoch(state.known.seen, state.vote.promised),
      lease: isLeader ? { left: lead.until - now, token: lead.token } : null,
    }
  }

  function heraldFor(state: LocalLeaderState, to: NodeId, now: Micros): Herald {
    return heraldOf(state, now, isAlive(state.known.peers[placeOf(to)] ?? null, now, expires))
  }

  function broadcast(
    state: LocalLeaderState,
    now: Micros,
    bodyWith: (herald: Herald) => LocalLeaderMessage,
    isMeant: (to: NodeId) => boolean = () => true,
  ): Deed[] {
    let toHeard: LocalLeaderMessage | null = null
    let toUnheard: LocalLeaderMessage | null = null
    // Along a tree a leader hears most of its supporters through others.
    const supporters = tree !== null && state.lead !== null ? new Set(state.lead.members) : null
    const sent: Deed[] = []
    for (const { id, index } of others) {
      if (!isMeant(id)) continue
      if (isAlive(state.known.peers[index] ?? null, now, expires) || supporters?.has(id) === true) {
        toHeard ??= bodyWith(heraldOf(state, now, true))
        sent.push(send(id, toHeard))
      } else {
        toUnheard ??= bodyWith(heraldOf(state, now, false))
        sent.push(send(id, toUnheard))
      }
    }
    return sent
  }

  function releases(
    state: LocalLeaderState,
    request: Request,
    yields: boolean,
    now: Micros,
  ): readonly Deed[] {
    const release = (herald: Herald): Release => ({ kind: 'Release', herald, request, yields })
    return [...broadcast(state, now, release), send(self, release(heraldOf(state, now, true)))]
  }

  /** An answer that nobody asked for, without a vote: which voters this process knows of. */
  function notice(state: LocalLeaderState, to: NodeId, now: Micros): Deed {
    const { promised, config } = state.vote
    return send(to, {
      kind: 'Reply',
      herald: heraldFor(state, to, now),
      candidate: to,
      request: latest(state),
      votes: [],
      promised,
      config,
    })
  }

  return { heraldOf, heraldFor, broadcast, releases, notice }
}
