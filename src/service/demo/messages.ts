/** Between `conclave demo` and its node processes, over the channel of Node.js. */
import type { JobState } from '../recovery/cluster/handle.ts'
import type { Acceptance, SinkEntry } from '../recovery/sink/index.ts'
import type { TileInput } from './tile-job.ts'

export type NodeStart = {
  readonly id: string
  readonly listen: string
  readonly peers: readonly string[]
  readonly key: Uint8Array
  readonly data: string
  readonly slots: number
  /** Options of the protocol. */
  readonly options: { readonly [name: string]: number }
  /** The process kills itself when it begins this step of recovery, as `kill -9` would. */
  readonly killAtStep: number | null
}

export type ToNode =
  | { readonly type: 'start'; readonly start: NodeStart }
  | { readonly type: 'killAtStep'; readonly step: number | null }
  | { readonly type: 'submit'; readonly call: number; readonly job: string; readonly input: TileInput }
  | { readonly type: 'accepted'; readonly call: number; readonly acceptance: Acceptance }

export type FromNode =
  | { readonly type: 'ready' }
  | { readonly type: 'view'; readonly view: NodeView }
  | { readonly type: 'step'; readonly step: number; readonly token: number }
  /** Only the fault manager reports the table of jobs. */
  | { readonly type: 'jobs'; readonly token: number; readonly jobs: readonly JobState[] }
  | { readonly type: 'log'; readonly job: string; readonly text: string }
  | { readonly type: 'warning'; readonly text: string }
  | { readonly type: 'offer'; readonly call: number; readonly entry: SinkEntry }
  /** `problem` is null if the group has stored the job, or has it already. */
  | { readonly type: 'submitted'; readonly call: number; readonly problem: string | null }
  | { readonly type: 'failed'; readonly message: string }

export type NodeView = {
  readonly token: number | null
  readonly leader: string | null
  readonly members: readonly string[]
}
