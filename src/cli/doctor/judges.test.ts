/** What the doctor concludes from what it has seen. */
import { createSocket } from 'node:dgram'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { StatusResponse } from '../../service/client/index.ts'
import type { JoinOptions } from '../../service/node/index.ts'
import { checkData, checkSecret, judgeFsync } from './files.ts'
import { formatMs, spreadOf } from './findings.ts'
import { checkClocks, judgeHost } from './host.ts'
import { judgePeer, type ProbeResult } from './peers.ts'
import { checkPort } from './ports.ts'
import { judgeStatus } from './running.ts'
import { judgeDelay, judgeLateness, judgeProfile, timingOf } from './timing.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-judges-'))
afterAll(() => rmSync(folder, { recursive: true }))

const spread = (max: number, p99 = max, p50 = p99): { p50: number; p99: number; max: number } => ({
  p50,
  p99,
  max,
})

it('computes percentiles, and writes durations with the digits that matter', () => {
  expect(spreadOf([])).toBeNull()
  expect(spreadOf([3, 1, 2])).toEqual({ p50: 2, p99: 3, max: 3 })
  expect([1.234, 12.34, 123.4].map(formatMs)).toEqual(['1.23 ms', '12.3 ms', '123 ms'])
})

describe('timing', () => {
  const joining = (given: object) =>
    timingOf({ id: 'a', ...given } as JoinOptions, ['b', 'c']) ?? expect.fail('no timing')
  const timing = joining({ profile: 'lan', timing: 'fixed' })

  it('compares lateness with σ, and proposes the option that would have held', () => {
    expect(timing.sigmaMs).toBe(10)
    expect(judgeLateness(spread(4), timing).level).toBe('ok')
    expect(judgeLateness(spread(90, 5), timing)).toMatchObject({ level: 'warning' })
    expect(judgeLateness(spread(90), timing)).toMatchObject({
      level: 'error',
      text: 'timers fire late by median 90.0 ms, 99 % 90.0 ms, longest 90.0 ms (σ is 10.0 ms)',
      fix: 'give this host more CPU time, or set --option sigmaMs=90 on all nodes',
    })
  })

  it('compares delays with δ, and proposes constants that fit together', () => {
    expect(judgeDelay('messages', spread(1), timing).level).toBe('ok')
    expect(judgeDelay('messages', spread(30), timing)).toMatchObject({
      level: 'error',
      fix: expect.stringMatching(/^set --option deltaMs=30 --option fastMs=\d+(\.\d)? on all nodes$/),
    })
  })

  it('says which leases tolerate the lateness, where leases tune themselves', () => {
    const adaptive = joining({ profile: 'fast' })
    expect(judgeLateness(spread(4), adaptive)).toMatchObject({
      level: 'ok',
      text: expect.stringMatching(/longest 4\.00 ms \(leases of \d\d\.\d ms or longer tolerate that\)$/),
    })
    // No lease is long enough.
    expect(judgeLateness(spread(9000), adaptive)).toMatchObject({
      level: 'error',
      fix: 'give this host more CPU time',
    })
    expect(judgeLateness(spread(900), adaptive)).toMatchObject({
      level: 'error',
      fix: expect.stringMatching(/^give this host more CPU time, or set --lease-max-ms \d+ on all nodes$/),
    })
    expect(judgeProfile('fast', { latenessMs: 4, delayMs: 1 }, adaptive)).toBeNull()
  })

  it('names the profile that fits', () => {
    const judge = (chosen: string, latenessMs: number, delayMs: number) =>
      judgeProfile(chosen, { latenessMs, delayMs }, joining({ profile: chosen, timing: 'fixed' }))
    expect(judge('lan', 2, 1)).toMatchObject({
      level: 'ok',
      text: expect.stringContaining('lan is the fastest'),
    })
    expect(judge('lan', 2, 12)).toMatchObject({ level: 'error', fix: 'set profile: region on all nodes' })
    expect(judge('wan', 2, 1)).toMatchObject({ level: 'ok', text: expect.stringContaining('lan would fit') })
    expect(judge('wan', 5000, 5000)).toMatchObject({
      level: 'error',
      text: 'no profile fits these measurements',
    })
  })
})

describe('files', () => {
  it('a secret that others may read deserves attention', () => {
    const file = join(folder, 'key')
    writeFileSync(file, 'x', { mode: 0o600 })
    expect(checkSecret('key', file).level).toBe('ok')
    writeFileSync(join(folder, 'open'), 'x', { mode: 0o644 })
    expect(checkSecret('key', join(folder, 'open'))).toMatchObject({
      level: 'warning',
      fix: `chmod 600 ${join(folder, 'open')}`,
    })
    expect(checkSecret('key', join(folder, 'none'))).toMatchObject({
      level: 'error',
      text: expect.stringContaining('ENOENT'),
    })
  })

  it('a data folder is checked without creating it', () => {
    const data = join(folder, 'data')
    expect(checkData(data)).toMatchObject([{ level: 'ok', text: expect.stringContaining('will create it') }])
    // As the node does, with its parents.
    expect(checkData(join(data, 'below'))).toMatchObject([{ level: 'ok' }])
    expect(readdirSync(folder)).not.toContain('data')
    mkdirSync(data, { mode: 0o755 })
    expect(checkData(data)).toMatchObject([{ level: 'warning', fix: `chmod 700 ${data}` }, { area: 'fsync' }])
    expect(readdirSync(data)).toEqual([])
    expect(checkData(join(folder, 'key'))).toMatchObject([{ level: 'error' }])
  })

  it('a slow fsync deserves attention', () => {
    expect(judgeFsync(spread(3)).level).toBe('ok')
    expect(judgeFsync(spread(80))).toMatchObject({
      level: 'warning',
      fix: expect.stringContaining('80.0 ms longer'),
    })
  })
})

describe('the host', () => {
  it('needs a second clock, and a fast clock source', () => {
    expect(checkClocks('tsc', true).map(({ level }) => level)).toEqual(['ok', 'ok'])
    expect(checkClocks('hpet', false).map(({ level }) => level)).toEqual(['warning', 'warning'])
    expect(checkClocks(null, true)).toHaveLength(1)
  })

  it('must not sleep, set its clock, or run out of CPU quota', () => {
    const sample = { lateness: null, wallStepMs: 1, suspendedMs: 0, throttledMs: 0 }
    expect(judgeHost(sample)).toEqual([])
    expect(judgeHost({ ...sample, wallStepMs: -400 })[0]?.text).toContain('set by -400 ms')
    expect(judgeHost({ ...sample, suspendedMs: 900 })[0]?.text).toContain('suspended for 900 ms')
    expect(judgeHost({ ...sample, throttledMs: 30 })[0]?.fix).toContain('cpu.max')
  })
})

describe('ports', () => {
  it('are free, in use by the agent or by another process, or not of this host', async () => {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', () => resolve()))
    const { port } = socket.address()
    const used = { host: '127.0.0.1', port }
    const levelOf = async (kind: 'UDP' | 'HTTP', host: string, isRunning = false) =>
      (await checkPort(kind, { host, port }, isRunning)).findings[0]
    expect(await checkPort('UDP', used, false)).toMatchObject({
      isFree: false,
      findings: [{ level: 'error' }],
    })
    expect((await levelOf('UDP', '127.0.0.1', true))?.level).toBe('ok')
    await new Promise<void>((resolve) => socket.close(() => resolve()))
    expect((await levelOf('UDP', '127.0.0.1'))?.text).toBe(`UDP 127.0.0.1:${port} is free`)
    expect((await levelOf('UDP', '192.0.2.1'))?.fix).toContain('ip addr')
    expect((await levelOf('HTTP', 'nowhere.invalid'))?.text).toContain('cannot be resolved')
  })
})

describe('peers', () => {
  const probed = (more: Partial<ProbeResult>): ProbeResult => ({
    peer: { id: 'b', address: { host: '10.0.0.2', port: 7400 } },
    unresolved: null,
    asked: 10,
    roundTrips: null,
    answersAs: null,
    isHeard: false,
    refused: [],
    ...more,
  })

  it('that are heard but do not answer differ from silent peers', () => {
    expect(judgePeer(probed({}))).toMatchObject({ level: 'warning' })
    expect(judgePeer(probed({ isHeard: true }))).toMatchObject({
      level: 'error',
      text: expect.stringContaining('b at 10.0.0.2:7400 is heard, but does not answer'),
    })
  })

  it.each([
    ['not authentic', 'same key file'],
    ['unknown format', 'secrecy'],
    ['another receiver', 'one id'],
    ['unreadable', 'same version'],
  ])('whose datagrams are refused (%s) get a remedy', (reason, fix) => {
    const refused = [{ reason, count: 1, from: '10.0.0.2:7400', detail: '' }]
    expect(judgePeer(probed({ refused })).fix).toContain(fix)
  })
})

describe('a running agent', () => {
  const node = (id: string, more: object) => ({
    id,
    address: `10.0.0.${id}:7400`,
    heardMsAgo: 5,
    rttMs: 1,
    version: '1',
    hears: null,
    ...more,
  })
  const status = (...nodes: readonly object[]): StatusResponse =>
    ({
      level: 'healthy',
      banner: 'healthy',
      version: '1',
      self: { id: '1', role: 'leader' },
      warnings: [{ at: 'noon', what: 'late', detail: 'by 93 ms', count: 2 }],
      nodes: [node('1', {}), ...nodes],
    }) as unknown as StatusResponse
  const levels = (...nodes: readonly object[]) =>
    judgeStatus(status(...nodes)).map(({ area, level }) => `${area} ${level}`)

  it('tells both directions of each link', () => {
    expect(levels(node('2', { hears: { 1: { heardMsAgo: 3 } } }))).toContain('peer ok')
    expect(levels(node('2', { hears: { 1: { heardMsAgo: null } } }))).toContain('peer error')
    expect(levels(node('2', { heardMsAgo: null }))).toContain('peer warning')
  })

  it('tells versions and its own warnings', () => {
    expect(levels(node('2', {}))).toEqual(['group ok', 'peer ok', 'version ok', 'warning warning'])
    expect(levels(node('2', { version: '2' }))).toContain('version warning')
  })
})
