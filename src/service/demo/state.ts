/** What the page of the demonstration shows. Plain data: it is sent to the browser as JSON. */

export type DemoState = {
  readonly phase: 'starting' | 'rendering' | 'checking' | 'done'
  readonly picture: { readonly width: number; readonly height: number; readonly iterations: number }
  readonly seconds: number
  /** Nodes that may be down at the same time. */
  readonly tolerated: number
  readonly nodes: readonly NodeState[]
  /** The newest view that a node has reported. */
  readonly view: {
    readonly token: number
    readonly leader: string
    readonly members: readonly string[]
  } | null
  /** The step of recovery that the fault manager began last. */
  readonly step: { readonly step: number; readonly token: number } | null
  readonly tiles: readonly TileState[]
  readonly counts: DemoCounts
  /** Whether the picture equals the reference, computed without failures; null before they were compared. */
  readonly identical: boolean | null
  /** The newest events, oldest first. */
  readonly events: readonly DemoEvent[]
}

export type NodeState = {
  readonly id: string
  /** `joining`: its process runs, but the newest view does not contain it. */
  readonly status: 'down' | 'joining' | 'up'
  /** Why the node must not be killed now; null if it may. */
  readonly keepReason: string | null
}

export type TileState = {
  readonly name: string
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  /** Rows that the sink has, from the top. */
  readonly rows: number
  readonly status: string
  /** The node that computes it. */
  readonly node: string | null
  /** The newest committed checkpoint. */
  readonly epoch: number | null
  /** The nodes that hold the columns of that checkpoint, by column. */
  readonly holders: readonly (string | null)[]
}

export type DemoCounts = {
  readonly kills: number
  readonly revivals: number
  /** Runs of a tile beyond its first. */
  readonly resumed: number
  readonly checkpoints: number
  /** Outputs that the sink had already. */
  readonly duplicates: number
  /** Outputs of replaced runs. */
  readonly fenced: number
  readonly views: number
}

export type DemoEvent = { readonly seconds: number; readonly text: string }

/** The eight steps of recovery, in order. */
export const STEP_NAMES: readonly string[] = [
  'store checkpoints',
  'fence the members',
  'all members are fenced',
  'adopt the newest records',
  'assign jobs to nodes',
  'restore and run jobs',
  'encode for the new members',
  'readmit a returned node',
]
