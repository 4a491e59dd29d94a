/**
 * Whoever starts a node with an open descriptor, named in CONCLAVE_SUPERVISOR_FD, takes it along when it ends, however
 * it ends, and may inject network faults: `conclave up` and `conclave chaos` do. Orders are lines of JSON on that descriptor.
 * A node that was started otherwise has no such path.
 */
import { Socket } from 'node:net'
import { z } from 'zod'
import type { NetworkFaults } from '../../service/runtime/index.ts'
import { linesOf } from '../../service/supervise/lines.ts'
import { EXIT } from '../errors.ts'
import { printNote } from '../output.ts'

const order = z.strictObject({
  faults: z.record(
    z.string(),
    z.discriminatedUnion('cut', [
      z.strictObject({ cut: z.literal(true) }),
      z.strictObject({
        cut: z.literal(false),
        delayMs: z.tuple([z.number().min(0), z.number().min(0)]).readonly(),
        loss: z.number().min(0).max(1),
      }),
    ]),
  ),
})

/** What a supervisor writes, one a line. */
export type SupervisorOrder = z.infer<typeof order>

type FaultTarget = { injectFaults(faults: NetworkFaults): void }

export class Supervisor {
  #faults: NetworkFaults | null = null
  #nodes: readonly FaultTarget[] = []

  /** Null when there is none. */
  static ofThisProcess(): Supervisor | null {
    const descriptor = process.env['CONCLAVE_SUPERVISOR_FD']
    if (descriptor === undefined) return null
    // Not for the processes that this one starts.
    delete process.env['CONCLAVE_SUPERVISOR_FD']
    const line = new Socket({ fd: Number(descriptor) })
    const end = (): void => process.exit(EXIT.failure)
    line.on('error', end)
    line.on('close', end)
    const supervisor = new Supervisor()
    linesOf(line, (text) => supervisor.#hear(text))
    // It is no reason to go on once everything else is done.
    line.unref()
    return supervisor
  }

  /** Injects the faults that the supervisor orders into these nodes, those ordered before included. */
  injectInto(nodes: readonly FaultTarget[]): void {
    this.#nodes = nodes
    if (this.#faults !== null) this.#inject(this.#faults)
  }

  #hear(text: string): void {
    let faults: NetworkFaults
    try {
      faults = order.parse(JSON.parse(text)).faults
    } catch (error) {
      printNote(`an order of the supervisor cannot be read: ${(error as Error).message}`)
      return
    }
    this.#faults = faults
    this.#inject(faults)
  }

  #inject(faults: NetworkFaults): void {
    for (const node of this.#nodes) node.injectFaults(faults)
  }
}
