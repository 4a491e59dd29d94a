/** Requests between the nodes of a group, for everything that is not a column: the port that the data transport offers. */
import type { NodeId } from '../../../core/index.ts'

export type PeerMessages = {
  /** Sends an encoded value, and resolves to the reply. Rejects if the node cannot be reached, or refuses. */
  call(node: NodeId, body: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>
}
