/** The black box of an election in a store: its trace, and the file that a failed assertion leaves. */
import { randomBytes } from 'node:crypto'
import type { NodeId, PlainObject, Protocol } from '../../../core/index.ts'
import type { StoreHosting } from '../../../protocols/index.ts'
import type { TraceHeader } from '../../../workbench/trace/index.ts'
import type { StoreElectionSettings } from '../../config/election-settings.ts'
import { BlackBox, clockName, type HostClock, type LoopRecord, writeBlackBox } from '../../runtime/index.ts'

export class StoreBlackBox {
  readonly #settings: StoreElectionSettings
  readonly #hosting: StoreHosting
  readonly #clock: HostClock
  readonly #members: () => readonly NodeId[]
  /** Names this run of the process. */
  readonly #run = randomBytes(6).toString('hex')
  readonly #box: BlackBox | null

  constructor(
    settings: StoreElectionSettings,
    hosting: StoreHosting,
    protocol: Protocol,
    clock: HostClock,
    members: () => readonly NodeId[],
  ) {
    this.#settings = settings
    this.#hosting = hosting
    this.#clock = clock
    this.#members = members
    this.#box = settings.traceSteps === 0 ? null : new BlackBox(settings.id, protocol, settings.traceSteps)
  }

  record(record: LoopRecord, before: Parameters<BlackBox['record']>[1]): void {
    this.#box?.record(record, before)
  }

  async *text(): AsyncGenerator<string, void, void> {
    if (this.#box !== null) yield* this.#box.text((skipped) => this.#header(skipped))
  }

  /** Writes the trace that replays to the failed assertion. Returns the file; null if there is none. */
  write(): string | null {
    if (this.#box === null) return null
    const { group, id } = this.#settings
    const owner = { group, node: id, run: this.#run, data: null }
    return writeBlackBox(
      owner,
      this.#box.textAtOnce((skipped) => this.#header(skipped)),
    )
  }

  #header(skipped: number): TraceHeader {
    const { group, id, options } = this.#settings
    const takenAt = this.#clock.now()
    const recording = {
      group,
      node: id,
      run: this.#run,
      skipped,
      clock: clockName(),
      takenAt,
      wallAhead: Date.now() * 1000 - takenAt,
    }
    const { name: protocol, recordedOptions } = this.#hosting
    const shown: PlainObject = { ...options, ...recordedOptions(group) }
    return { trace: 1, protocol, nodes: this.#members(), options: shown, seed: 0, recording, hosted: group }
  }
}
