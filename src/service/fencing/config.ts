/** The configuration of fencing devices, for nodes that fence before they lead. */
import { z } from 'zod'
import { commandDevice } from './device-command.ts'
import { httpDevice } from './device-http.ts'
import { type FenceDevice, type FenceStatus, unknownAnswer, withAbort } from './devices.ts'

const MAX_TIMEOUT_MS = 3_600_000
const timeoutMs = z
  .number()
  .min(1)
  .max(MAX_TIMEOUT_MS)
  .default(30_000)
  .describe('timeout of one order or one status request')

export const fencingSchema = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('command'),
      command: z
        .array(z.string().min(1))
        .min(1)
        .describe('a fence agent and its arguments; options are name=value lines on its standard input'),
      options: z
        .record(z.string(), z.string())
        .default({})
        .describe('further options of the agent, such as address and login'),
      timeoutMs,
    })
    .describe('an external fence agent, as cluster managers use them'),
  z
    .strictObject({
      kind: z.literal('http'),
      url: z
        .string()
        .refine((text) => URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol), {
          message: 'must be a URL such as http://switch/fence',
        })
        // Warnings show the URL, and fetch refuses credentials in it.
        .refine(
          (text) => !URL.canParse(text) || (new URL(text).username === '' && new URL(text).password === ''),
          {
            message: 'must not contain a user or password: use the header authorization',
          },
        ),
      headers: z.record(z.string(), z.string()).default({}).describe('sent with every request'),
      timeoutMs,
    })
    .describe('an HTTP call: docs/how-to/write-a-fenced-resource.md'),
])

export type FencingConfig = z.infer<typeof fencingSchema>
export type FencingInput = z.input<typeof fencingSchema>

/** Opens a device with a timeout for every order. */
export function openDevice(config: FencingConfig): FenceDevice {
  const device =
    config.kind === 'command'
      ? commandDevice({ command: config.command as [string, ...string[]], options: config.options })
      : httpDevice({ url: config.url, headers: config.headers })
  return withTimeLimit(device, config.timeoutMs)
}

/** Limits the time of every order and status request, even if the device ignores the signal. */
export function withTimeLimit(device: FenceDevice, limitMs: number): FenceDevice {
  async function within<T>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    otherwise: (why: string) => T,
  ): Promise<T> {
    const limit = new AbortController()
    const late = new Error(`no answer within ${limitMs} ms`)
    const timer = setTimeout(() => limit.abort(late), limitMs)
    const both = AbortSignal.any([signal, limit.signal])
    try {
      return await withAbort(both, () => work(both), otherwise)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    name: device.name,
    execute: (order, signal) => within(signal, (both) => device.execute(order, both), unknownAnswer),
    status: (target, signal) =>
      within(
        signal,
        (both) => device.status(target, both),
        (): FenceStatus => 'unknown',
      ),
  }
}
