/**
 * The link to a supervisor: a process, such as `conclave up` or `conclave chaos`, that starts a node with an open
 * descriptor named in CONCLAVE_SUPERVISOR_FD. The node exits when the supervisor ends in any way. The supervisor can
 * inject network faults: it writes orders to the descriptor, one JSON object per line.
 */
import { Socket } from 'node:net'
import { z } from 'zod'
import type { LocalResponse } from '../../service/client/index.ts'
import type { NetworkFaults } from '../../service/runtime/index.ts'
import { readLines } from '../../service/supervise/lines.ts'
import { EXIT } from '../errors.ts'
import { printNote } from '../output.ts'

const faultsOrder = z.strictObject({
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

const localOrder = z.strictObject({
  local: z.strictObject({
    url: z.url(),
    nodes: z.record(z.string(), z.enum(['up', 'paused', 'down'])),
    cut: z.array(z.tuple([z.string(), z.string()]).readonly()).readonly(),
  }),
})

const order = z.union([faultsOrder, localOrder])

/** A line that a supervisor writes: the network faults of this node, or the state of the group. */
export type SupervisorOrder = z.infer<typeof order>

type FaultTarget = { injectFaults(faults: NetworkFaults): void }

export class Supervisor {
  #faults: NetworkFaults | null = null
  #nodes: readonly FaultTarget[] = []
  #local: LocalResponse | null = null
  #onLocal: (local: LocalResponse) => void = () => {}

  /** Null if this process has no supervisor. */
  static connect(): Supervisor | null {
    const descriptor = process.env['CONCLAVE_SUPERVISOR_FD']
    if (descriptor === undefined) return null
    // Child processes of this one have no supervisor.
    delete process.env['CONCLAVE_SUPERVISOR_FD']
    const line = new Socket({ fd: Number(descriptor) })
    const end = (): void => process.exit(EXIT.failure)
    line.on('error', end)
    line.on('close', end)
    const supervisor = new Supervisor()
    readLines(line, (text) => supervisor.#receive(text))
    // The link alone does not keep the process running.
    line.unref()
    return supervisor
  }

  /** Injects the faults that the supervisor orders into these nodes, those ordered before included. */
  injectInto(nodes: readonly FaultTarget[]): void {
    this.#nodes = nodes
    if (this.#faults !== null) this.#inject(this.#faults)
  }

  /** Calls the function with the state of the group, now and whenever it changes. */
  onLocal(handle: (local: LocalResponse) => void): void {
    this.#onLocal = handle
    if (this.#local !== null) handle(this.#local)
  }

  #receive(text: string): void {
    let received: SupervisorOrder
    try {
      received = order.parse(JSON.parse(text))
    } catch (error) {
      printNote(`cannot parse an order of the supervisor: ${(error as Error).message}`)
      return
    }
    if ('local' in received) {
      this.#local = received.local
      this.#onLocal(received.local)
      return
    }
    this.#faults = received.faults
    this.#inject(received.faults)
  }

  #inject(faults: NetworkFaults): void {
    for (const node of this.#nodes) node.injectFaults(faults)
  }
}
