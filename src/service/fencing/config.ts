/** Fencing devices as a configuration describes them, for processes that fence before they say that they lead. */
import { z } from 'zod'
import { commandDevice } from './device-command.ts'
import { httpDevice } from './device-http.ts'
import { type FenceDevice, type FenceStatus, givenUp, heeding } from './devices.ts'

const LONGEST_MS = 3_600_000
const timeoutMs = z
  .number()
  .min(1)
  .max(LONGEST_MS)
  .default(30_000)
  .describe('how long one order, or one question, may take')

export const fencingSchema = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('command'),
      command: z
        .array(z.string().min(1))
        .min(1)
        .describe('a fence agent and its words: options come as name=value lines on its standard input'),
      options: z
        .record(z.string(), z.string())
        .default({})
        .describe('further options of the agent, as its address and login'),
      timeoutMs,
    })
    .describe('an external command, as cluster managers use them'),
  z
    .strictObject({
      kind: z.literal('http'),
      url: z
        .string()
        .refine((text) => URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol), {
          message: 'write a URL such as http://switch/fence',
        })
        // It is shown in warnings, and no request could be made to it.
        .refine(
          (text) => !URL.canParse(text) || (new URL(text).username === '' && new URL(text).password === ''),
          {
            message: 'takes no user and no password: give the header authorization',
          },
        ),
      headers: z.record(z.string(), z.string()).default({}).describe('sent with every request'),
      timeoutMs,
    })
    .describe('an HTTP call: docs/how-to/write-a-fenced-resource.md'),
])

export type FencingConfig = z.infer<typeof fencingSchema>
export type FencingInput = z.input<typeof fencingSchema>

/** A device whose every order has a time limit of its own. */
export function openDevice(config: FencingConfig): FenceDevice {
  const device =
    config.kind === 'command'
      ? commandDevice({ command: config.command as [string, ...string[]], options: config.options })
      : httpDevice({ url: config.url, headers: config.headers })
  return limitedTo(device, config.timeoutMs)
}

/** Every order and every question is answered within the limit, even by a device that does not heed it. */
export function limitedTo(device: FenceDevice, limitMs: number): FenceDevice {
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
      return await heeding(both, () => work(both), otherwise)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    name: device.name,
    carryOut: (order, signal) => within(signal, (both) => device.carryOut(order, both), givenUp),
    status: (target, signal) =>
      within(
        signal,
        (both) => device.status(target, both),
        (): FenceStatus => 'unknown',
      ),
  }
}
