/**
 * A simulated switch: ports that are on or off, and one administrator at a time, like the switches in the paper of
 * Dharmadeep and Gopinath. For tests and experiments.
 */
import type { FenceAnswer, FenceDevice, FenceOrder, FenceStatus } from './devices.ts'
import { MAX_TOKEN_GAP } from './tokens.ts'

type Port = { readonly status: 'on' | 'off'; readonly token: number }

export class SimulatedSwitch implements FenceDevice {
  readonly name: string
  readonly #ports = new Map<string, Port>()
  #administrator: string | null = null
  #queue: { readonly by: string; readonly admit: () => void }[] = []

  constructor(name: string) {
    this.name = name
  }

  enter(by: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const entry = { by, admit: () => resolve(() => this.drop(by)) }
      signal.addEventListener('abort', () => {
        this.#queue = this.#queue.filter((other) => other !== entry)
        reject(new Error(`${this.name}: ${this.#administrator} is logged in`, { cause: signal.reason }))
      })
      this.#queue.push(entry)
      this.#admit()
    })
  }

  /** The administrator logs out, or its connection breaks. */
  drop(by: string): void {
    if (this.#administrator !== by) return
    this.#administrator = null
    this.#admit()
  }

  async execute({ action, target, token, by }: FenceOrder): Promise<FenceAnswer> {
    const refused = (why: string, current: number | null): FenceAnswer => ({
      outcome: 'refused',
      why,
      current,
    })
    if (this.#administrator !== by) return refused(`${by} is not logged in at ${this.name}`, null)
    const port = this.#ports.get(target) ?? { status: 'on', token: 0 }
    if (token < port.token) return refused(`${target} has the newer token ${port.token}`, port.token)
    if (token - port.token > MAX_TOKEN_GAP)
      return refused(`the token ${token} is too far above ${port.token}, the greatest so far`, port.token)
    if (action === 'on' && target === by && port.status === 'off' && token === port.token)
      return refused(`${target} was isolated under the same token`, port.token)
    this.#ports.set(target, { status: action, token })
    return { outcome: 'done' }
  }

  async status(target: string): Promise<FenceStatus> {
    return this.#ports.get(target)?.status ?? 'on'
  }

  #admit(): void {
    if (this.#administrator !== null) return
    const [next, ...rest] = this.#queue
    if (next === undefined) return
    this.#queue = rest
    this.#administrator = next.by
    next.admit()
  }
}
