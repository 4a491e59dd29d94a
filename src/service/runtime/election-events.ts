/** What an election reports to the node that runs it, through all layers between the protocol and the node. */
import type { NodeId, Output, View } from '../../core/index.ts'

/** The leader, as one node sees it. */
export type NodeView = {
  readonly role: View['role']
  readonly leader: { readonly id: NodeId; readonly token: number | null } | null
  readonly members: readonly NodeId[] | null
}

export type ElectionEvents = {
  /** An output of the protocol. In the thread of the election it is reported within the step: effects must be deferred. */
  output(event: Output): void
  /** The view may have changed. */
  changed(view: NodeView): void
  /** A condition for operators. */
  warn(what: string, detail: string): void
  /** The election cannot continue. */
  failed(error: Error): void
  /** A step was taken. Reported within the step, or once for all steps of an iteration of the event loop. */
  stepped?(): void
}
