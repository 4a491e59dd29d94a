/**
 * Fencing devices (STONITH): hardware that isolates a node from shared resources, such as a power switch or a disk port.
 *
 * Only a leader sends orders, each with its token. A device keeps the greatest token per target and refuses an order with
 * a smaller one, so that a former leader cannot undo the orders of its successor. A node cannot switch itself on again
 * with the token under which it was isolated.
 */

export type FenceOrder = {
  /** `off` isolates the target, `on` reconnects it. */
  readonly action: 'off' | 'on'
  readonly target: string
  readonly token: number
  /** The node that sends the order. */
  readonly by: string
}

export type FenceAnswer =
  | { readonly outcome: 'done' }
  /** A newer leader has sent orders. `current` is its token, if the device reports it. */
  | { readonly outcome: 'refused'; readonly current: number | null; readonly why: string }
  /** The order may or may not have taken effect: a timeout, or an error of the device. */
  | { readonly outcome: 'unknown'; readonly why: string }

export type FenceStatus = 'on' | 'off' | 'unknown'

export type FenceDevice = {
  readonly name: string
  /** For devices with one administrator at a time: waits for access, and returns the function that ends it. */
  enter?(by: string, signal: AbortSignal): Promise<() => void>
  execute(order: FenceOrder, signal: AbortSignal): Promise<FenceAnswer>
  status(target: string, signal: AbortSignal): Promise<FenceStatus>
}

export { type CommandOptions, commandDevice } from './device-command.ts'
export { type HttpDeviceOptions, httpDevice } from './device-http.ts'
export { SimulatedSwitch } from './device-switch.ts'

/** The nodes to reconnect and the nodes to isolate, as the leader of an epoch decides. */
export type Partition = {
  readonly by: string
  readonly token: number
  readonly inside: readonly string[]
  readonly outside: readonly string[]
}

export type FenceResult =
  | { readonly outcome: 'confirmed' }
  | (Exclude<FenceAnswer, { outcome: 'done' }> & { readonly at: string })

/**
 * Isolates all outside nodes and reconnects all inside nodes, on every device, and confirms each order. Only then can the
 * leader recover shared state and serve. All callers must list the devices in the same order, to avoid deadlock.
 */
export async function establish(
  devices: readonly FenceDevice[],
  { by, token, inside, outside }: Partition,
  signal: AbortSignal,
): Promise<FenceResult> {
  const exits: (() => void)[] = []
  try {
    for (const device of devices) {
      // oxlint-disable-next-line no-await-in-loop -- in a fixed order, to avoid deadlock
      if (device.enter !== undefined) exits.push(await device.enter(by, signal))
    }
    const orders = [
      ...outside.map((target): FenceOrder => ({ action: 'off', target, token, by })),
      ...inside.map((target): FenceOrder => ({ action: 'on', target, token, by })),
    ]
    for (const device of devices) {
      for (const order of orders) {
        // oxlint-disable-next-line no-await-in-loop -- outside nodes first, and nothing after a refusal
        const answer = await executeAndConfirm(device, order, signal)
        if (answer.outcome !== 'done') return { ...answer, at: `${device.name}, ${order.target}` }
      }
    }
    return { outcome: 'confirmed' }
  } catch (error) {
    return { outcome: 'unknown', at: 'entering', why: error instanceof Error ? error.message : String(error) }
  } finally {
    for (const exit of exits) exit()
  }
}

export function unknownAnswer(why: string): FenceAnswer {
  return { outcome: 'unknown', why }
}

/** Resolves to `otherwise` on abort, even if the device ignores the signal. */
export function withAbort<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  otherwise: (why: string) => T,
): Promise<T> {
  const why = (): string => (signal.reason instanceof Error ? signal.reason.message : 'aborted')
  if (signal.aborted) return Promise.resolve(otherwise(why()))
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => resolve(otherwise(why()))
    signal.addEventListener('abort', onAbort, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}

async function executeAndConfirm(
  device: FenceDevice,
  order: FenceOrder,
  signal: AbortSignal,
): Promise<FenceAnswer> {
  const answer = await withAbort(signal, () => device.execute(order, signal), unknownAnswer)
  if (answer.outcome !== 'done') return answer
  const status = await withAbort(
    signal,
    () => device.status(order.target, signal),
    (): FenceStatus => 'unknown',
  )
  return status === order.action
    ? answer
    : {
        outcome: 'unknown',
        why: `${order.target} was switched ${order.action}, but its status is ${status}`,
      }
}
