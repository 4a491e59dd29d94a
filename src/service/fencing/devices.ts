/**
 * Fencing devices: what can cut a node off from what it must not touch, such as a power switch or the port of a disk.
 *
 * Only a leader gives orders, each with its token. A device keeps the greatest token for each target and refuses an
 * order with a smaller one, so that a leader that was overtaken does not undo what the next one did; nobody brings
 * itself back with the token under which it was cut off.
 */

export type FenceOrder = {
  /** `off` cuts the target off, `on` lets it back in. */
  readonly action: 'off' | 'on'
  readonly target: string
  readonly token: number
  /** Who gives the order. */
  readonly by: string
}

export type FenceAnswer =
  | { readonly outcome: 'done' }
  /** A newer leader was here. `current`: its token, where the device says. */
  | { readonly outcome: 'refused'; readonly current: number | null; readonly why: string }
  /** It may have been done or not: a time-out, an error of the device. */
  | { readonly outcome: 'unknown'; readonly why: string }

export type FenceStatus = 'on' | 'off' | 'unknown'

export type FenceDevice = {
  readonly name: string
  /** Where only one administrator at a time is let in: waits for one's turn. */
  enter?(by: string, signal: AbortSignal): Promise<() => void>
  carryOut(order: FenceOrder, signal: AbortSignal): Promise<FenceAnswer>
  status(target: string, signal: AbortSignal): Promise<FenceStatus>
}

export { type CommandOptions, commandDevice } from './device-command.ts'
export { type HttpDeviceOptions, httpDevice } from './device-http.ts'
export { SimulatedSwitch } from './device-switch.ts'

/** Who shall be let in and who shall be cut off, according to the leader of an epoch. */
export type Partition = {
  readonly by: string
  readonly token: number
  readonly inside: readonly string[]
  readonly outside: readonly string[]
}

export type Established =
  | { readonly outcome: 'confirmed' }
  | (Exclude<FenceAnswer, { outcome: 'done' }> & { readonly at: string })

/**
 * Cuts off all outside and lets in all inside, on every device, and confirms each. Only then may the leader recover
 * what the others left and serve. The devices are entered in the order given: the same for all who call.
 */
export async function establish(
  devices: readonly FenceDevice[],
  { by, token, inside, outside }: Partition,
  signal: AbortSignal,
): Promise<Established> {
  const leave: (() => void)[] = []
  try {
    for (const device of devices) {
      // oxlint-disable-next-line no-await-in-loop -- in the order given, or two leaders wait for one another
      if (device.enter !== undefined) leave.push(await device.enter(by, signal))
    }
    const orders = [
      ...outside.map((target): FenceOrder => ({ action: 'off', target, token, by })),
      ...inside.map((target): FenceOrder => ({ action: 'on', target, token, by })),
    ]
    for (const device of devices) {
      for (const order of orders) {
        // oxlint-disable-next-line no-await-in-loop -- those outside first, and nothing after a refusal
        const answer = await confirmed(device, order, signal)
        if (answer.outcome !== 'done') return { ...answer, at: `${device.name}, ${order.target}` }
      }
    }
    return { outcome: 'confirmed' }
  } catch (error) {
    return { outcome: 'unknown', at: 'entering', why: error instanceof Error ? error.message : String(error) }
  } finally {
    for (const out of leave) out()
  }
}

export function givenUp(why: string): FenceAnswer {
  return { outcome: 'unknown', why }
}

/** An answer as soon as the signal says that time is up, whether or not the device heeds it. */
export function heeding<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  otherwise: (why: string) => T,
): Promise<T> {
  const why = (): string =>
    signal.reason instanceof Error ? signal.reason.message : 'it is no longer wanted'
  if (signal.aborted) return Promise.resolve(otherwise(why()))
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => resolve(otherwise(why()))
    signal.addEventListener('abort', onAbort, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}

async function confirmed(device: FenceDevice, order: FenceOrder, signal: AbortSignal): Promise<FenceAnswer> {
  const answer = await heeding(signal, () => device.carryOut(order, signal), givenUp)
  if (answer.outcome !== 'done') return answer
  const status = await heeding(
    signal,
    () => device.status(order.target, signal),
    (): FenceStatus => 'unknown',
  )
  return status === order.action
    ? answer
    : {
        outcome: 'unknown',
        why: `it said that ${order.target} is ${order.action}, but the status is ${status}`,
      }
}
