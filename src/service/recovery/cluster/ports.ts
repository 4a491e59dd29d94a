/** The protocol, as the host of the fault manager sees it. */
import type { NodeId } from '../../../core/index.ts'
import type { JobView, ManagerCommand } from '../../../recovery/manager/types.ts'

/** The group as this node sees it. */
export type Outlook = {
  /** Null without a view. */
  readonly token: number | null
  readonly leader: NodeId | null
  readonly members: readonly NodeId[]
  readonly jobs: readonly JobView[]
  /** The largest token that this node has promised. */
  readonly fence: number
  /** The step of recovery that this node began last; 0: none. */
  readonly step: number
}

export type ManagerPort = {
  /** Resolves to null, or to why the protocol refuses the command. It has been carried out when the call returns. */
  command(command: ManagerCommand): Promise<string | null>
  look(): Outlook
}
