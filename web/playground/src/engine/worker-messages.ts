/** The messages between the page and its workers: the requests of the page, and parts of a search over seeds. */
import type { Done, Found, OwnModule, Request, ScenarioFile } from './messages.ts'
import type { SeedTally } from './seeds.ts'

type SeedJob = {
  readonly scenario: ScenarioFile
  readonly module: OwnModule | null
  readonly swarm: boolean
}

export type WorkerRequest =
  | Request
  | (SeedJob & { readonly type: 'seeds'; readonly first: number; readonly last: number })
  | (SeedJob & { readonly type: 'shrink'; readonly violation: NonNullable<SeedTally['violation']> })

export type WorkerDone = Done & { readonly seeds: SeedTally; readonly shrink: Found }

export type RequestOf<T extends WorkerRequest['type']> = Extract<WorkerRequest, { readonly type: T }>
