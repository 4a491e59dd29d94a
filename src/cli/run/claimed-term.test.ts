/** `conclave run --agent` with an agent and a guardian that the test controls. */
import { afterEach, expect, it, vi } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { Fetch, FetchResponse } from '../../service/client/index.ts'
import { type HostClock, monotonicNow } from '../../service/runtime/index.ts'
import type { CommandExit } from '../../service/supervise/guardian-process.ts'
import { EXIT } from '../errors.ts'
import { runWithAgent } from './agent.ts'

afterEach(() => void vi.restoreAllMocks())

const json = (value: unknown): FetchResponse => ({
  ok: true,
  status: 200,
  body: null,
  json: () => Promise.resolve(value),
})

/** A request that is never answered. */
const silence = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))

async function* stream(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, void> {
  yield Buffer.from('event: snapshot\ndata: {"self":{"id":"a","role":"leader"}}\n\n')
  await silence(signal)
}

/** An agent that leads. `claimed` responds to claims. */
function agentWith(claimed: (count: number, signal: AbortSignal | undefined) => Promise<FetchResponse>) {
  let claims = 0
  const requests: string[] = []
  const fetch: Fetch = ({ pathname }, { method = 'GET', signal }) => {
    requests.push(`${method} ${pathname}`)
    if (pathname === '/v1/events')
      return Promise.resolve({ ...json(null), body: stream(signal) } satisfies FetchResponse)
    if (method !== 'POST') return Promise.resolve(json({ lease: { lengthMs: 400, marginMs: 200 } }))
    claims += 1
    return claimed(claims, signal)
  }
  return { fetch, requests }
}

/** A command that ends at the first request to stop. */
function fakeGuardian() {
  const stops: number[] = []
  let runs = 0
  let end: (exit: CommandExit) => void = () => {}
  return {
    stops,
    runs: () => runs,
    run(): Promise<CommandExit> {
      runs += 1
      return new Promise((resolve) => {
        end = resolve
      })
    },
    setDeadline() {},
    stop(graceMs: number) {
      stops.push(graceMs)
      end({ code: null, signal: 'SIGKILL', isTerminated: true })
    },
  }
}

function settingsFor(stopSignal: AbortSignal) {
  const reported: string[] = []
  return {
    reported,
    command: ['worker'],
    stopSignal,
    graceMs: 500,
    killBeforeMs: null,
    once: true,
    report: (text: string) => void reported.push(text),
  }
}

const TARGET = { agent: 'http://127.0.0.1:7480', group: null, adminToken: null }
const GRANTED = json({ group: 'g', id: 'a', claim: 'c', token: 7, expiresInMs: 3_600_000, ending: false })

it('ends the command when the host was suspended, although the claim lasts on the monotonic clock', async () => {
  let slept = 0
  let isClosed = false
  const clock: HostClock = {
    now: monotonicNow,
    suspendedFor: () => slept,
    close: () => {
      isClosed = true
    },
  }
  const { fetch } = agentWith(() => Promise.resolve(GRANTED))
  const guardian = fakeGuardian()
  const running = runWithAgent(
    { ...TARGET, fetch, openClock: () => clock },
    guardian,
    settingsFor(new AbortController().signal),
  )
  await until(() => guardian.runs() === 1)
  slept = 60_000_000
  expect(await running).toBe(EXIT.lost)
  expect(guardian.stops).toEqual([0])
  expect(isClosed).toBe(true)
})

it('stops after a signal although the agent does not answer the claim', async () => {
  const { fetch, requests } = agentWith((_count, signal) => silence(signal))
  const stop = new AbortController()
  const running = runWithAgent({ ...TARGET, fetch }, fakeGuardian(), settingsFor(stop.signal))
  await until(() => requests.includes('POST /v1/claim'))
  stop.abort()
  expect(await running).toBe(EXIT.ok)
})

it('asks again when the agent does not answer the claim', async () => {
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const timeout = new AbortController()
    setImmediate(() => timeout.abort(new DOMException('', 'TimeoutError')))
    return timeout.signal
  })
  const { fetch } = agentWith((count, signal) => (count === 1 ? silence(signal) : Promise.resolve(GRANTED)))
  const guardian = fakeGuardian()
  const stop = new AbortController()
  const settings = settingsFor(stop.signal)
  const running = runWithAgent({ ...TARGET, fetch }, guardian, settings)
  await until(() => guardian.runs() === 1)
  expect(settings.reported[0]).toContain('no agent responds')
  stop.abort()
  expect(await running).toBe(EXIT.ok)
})
