/**
 * A device behind HTTP. An order is `POST URL` with `{ action, target, token, by }`: 2xx is done, 409 refused with
 * `{ current }`. `GET URL?target=NAME` answers `{ status: "on" | "off" }`. Each request is made once.
 */
import type { FenceDevice } from './devices.ts'

export type HttpDeviceOptions = {
  readonly url: string
  readonly headers?: { readonly [name: string]: string }
}

export function httpDevice({ url, headers = {} }: HttpDeviceOptions): FenceDevice {
  async function ask(at: URL, init: RequestInit): Promise<{ readonly status: number; readonly said: Said }> {
    const response = await fetch(at, { ...init, redirect: 'error' })
    const said = (await response.json().catch(() => null)) as Said | null
    return { status: response.status, said: said ?? {} }
  }

  return {
    name: url,
    async carryOut(order, signal) {
      try {
        const sent = { ...headers, 'content-type': 'application/json' }
        const { status, said } = await ask(new URL(url), {
          method: 'POST',
          headers: sent,
          body: JSON.stringify(order),
          signal,
        })
        if (status >= 200 && status < 300) return { outcome: 'done' }
        const why = said.error?.message ?? `${url} answered ${status}`
        return status === 409
          ? { outcome: 'refused', current: said.current ?? null, why }
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
        const { said } = await ask(at, { headers, signal })
        return said.status === 'on' || said.status === 'off' ? said.status : 'unknown'
      } catch {
        return 'unknown'
      }
    },
  }
}

type Said = {
  readonly status?: string
  readonly current?: number
  readonly error?: { readonly message: string }
}
