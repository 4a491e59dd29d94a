/** What the world reports beyond the trace of a run: exact clocks, the instants that timers drew, and the network. */
import type { Micros, NodeId } from '../../../../src/core/index.ts'
import type { ClockReading, NetworkReading, RunInspector } from '../../../../src/workbench/scenario/index.ts'

export type ClockReport = {
  readonly node: NodeId
  readonly at: Micros
  readonly readings: readonly ClockReading[]
}

export class Measurements implements RunInspector {
  readonly clocks: ClockReport[] = []
  readonly networks: NetworkReading[] = []
  /** By record, node and timer: when it is due. A step sets timers before its record is written. */
  readonly #timers = new Map<string, Micros>()
  readonly #records: () => number

  /** `records`: the number of records so far. */
  constructor(records: () => number) {
    this.#records = records
  }

  clock(node: NodeId, at: Micros, readings: readonly ClockReading[]): void {
    this.clocks.push({ node, at, readings })
  }

  timer(node: NodeId, _at: Micros, name: string, due: Micros | null): void {
    if (due !== null) this.#timers.set(keyOf(this.#records(), node, name), due)
  }

  network(reading: NetworkReading): void {
    if (this.networks.at(-1)?.from === reading.from) this.networks.pop()
    this.networks.push(reading)
  }

  /** When a timer is due that the step with this record sets. */
  dueIn(record: number, node: NodeId, name: string): Micros | null {
    return this.#timers.get(keyOf(record, node, name)) ?? null
  }
}

function keyOf(record: number, node: NodeId, name: string): string {
  return `${record} ${node} ${name}`
}
