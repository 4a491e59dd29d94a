/**
 * Datagrams for an earlier incarnation of this process, or for none yet (0). The sender may have just started, or may not
 * know of a restart here: then it must be answered. But the datagram may also be a replayed recording, which does not
 * show that its sender is alive. The numbers of a sender grow, so a datagram with an old number is a replay.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Datagram } from '../../links/index.ts'
import type { DropReason } from './udp.ts'

/** The shortest interval between two answers to datagrams of a peer for an earlier incarnation. */
const ANSWER_INTERVAL: Micros = 100_000

export class OutOfSession {
  /** The last datagram of each peer that was not for this incarnation. */
  readonly #last = new Map<
    NodeId,
    { readonly by: number; readonly number: number; readonly answeredAt: Micros }
  >()

  receive(
    from: NodeId,
    { by, for: meant, number }: Datagram,
    now: Micros,
  ): { readonly drop: DropReason | null; readonly isAnswered: boolean } {
    const last = this.#last.get(from)
    if (last !== undefined && (by < last.by || (by === last.by && number <= last.number)))
      return { drop: 'heard before', isAnswered: false }
    const isAnswered = meant === 0 || last === undefined || now - last.answeredAt >= ANSWER_INTERVAL
    this.#last.set(from, { by, number, answeredAt: isAnswered ? now : last.answeredAt })
    return { drop: meant === 0 ? null : 'earlier incarnation', isAnswered }
  }

  forget(peer: NodeId): void {
    this.#last.delete(peer)
  }
}
