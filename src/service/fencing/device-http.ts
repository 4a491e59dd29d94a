/**
 * A device with an HTTP interface. An order is `POST URL` with `{ action, target, token, by }`: 2xx means done, 409 means
 * refused, with `{ current }`. `GET URL?target=NAME` returns `{ status: "on" | "off" }`. Each request is sent once.
 */
import type { FenceDevice } from './devices.ts'

export type HttpDeviceOptions = {
  readonly url: string
  readonly headers?: { readonly [name: string]: string }
}

export function httpDevice({ url, headers = {} }: HttpDeviceOptions): FenceDevice {
  async function ask(
    at: URL,
    init: RequestInit,
  ): Promise<{ readonly status: number; readonly reply: DeviceReply }> {
    const response = await fetch(at, { ...init, redirect: 'error' })
    const reply = (await response.json().catch(() => null)) as DeviceReply | null
    return { status: response.status, reply: reply ?? {} }
  }

  return {
    name: url,
    async execute(order, signal) {
      try {
        const sent = { ...headers, 'content-type': 'application/json' }
        const { status, reply } = await ask(new URL(url), {
          method: 'POST',
          headers: sent,
          body: JSON.stringify(order),
          signal,
        })
        if (status >= 200 && status < 300) return { outcome: 'done' }
        const why = reply.error?.message ?? `${url} returned status ${status}`
        return status === 409
          ? { outcome: 'refused', current: reply.current ?? null, why }
          : { outcome: 'unknown', why }
      } catch (error) {
        return {
          outcome: 'unknown',
          why: `${url}: ${error instanceof Error ? error.message : String(error)}`,
        }
      }
    },
    async status(target, signal) {
      const at = new URL(url)
      at.searchParams.set('target', target)
      try {
        const { reply } = await ask(at, { headers, signal })
        return reply.status === 'on' || reply.status === 'off' ? reply.status : 'unknown'
      } catch {
        return 'unknown'
      }
    },
  }
}

type DeviceReply = {
  readonly status?: string
  readonly current?: number
  readonly error?: { readonly message: string }
}
