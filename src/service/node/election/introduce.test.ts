import { createSocket } from 'node:dgram'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { until } from '../../../../test/support/wait.ts'
import type { NodeId } from '../../../core/index.ts'
import { Codec, INTRODUCTION, INTRODUCTION_REQUEST, sealer } from '../../runtime/index.ts'
import { type ConclaveNode, type JoinOptions, join } from '../index.ts'

const KEY = new Uint8Array(32).fill(3)
/** A busy machine must not make healthy processes look dead. */
const PATIENT = { sigmaMs: 300, renewalIntervalMs: 100 }

let members: ConclaveNode[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(members.map((member) => member.close()))
  members = []
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function optionsOf(ids: readonly string[], ports: readonly number[]): readonly JoinOptions[] {
  return ids.map((id, index) => ({
    group: 'test',
    id,
    listen: `127.0.0.1:${ports[index]}`,
    peers: ports.flatMap((port, place) => (place === index ? [] : [`localhost:${port}`])),
    key: KEY,
    isolation: 'thread',
    options: PATIENT,
  }))
}

describe('peers without ids', () => {
  it('exchange their ids, and then elect; a restarted process remembers them', async () => {
    const ports = await freePorts(3)
    const all = optionsOf(['a', 'b', 'c'], ports)
    const data = mkdtempSync(pathJoin(tmpdir(), 'conclave-introduce-'))
    folders.push(data)
    const withData = { ...(all[0] as JoinOptions), data }
    members = await Promise.all([withData, ...all.slice(1)].map((options) => join(options)))
    void members[1]?.lead(
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    )
    await until(() => members.every((member) => member.view().leader?.id === 'b'))
    expect(members[0]?.status().voters).toEqual([['a', 'b', 'c']])
    expect(JSON.parse(readFileSync(pathJoin(data, 'peers.json'), 'utf8'))).toMatchObject({
      data: { [`localhost:${ports[1]}`]: 'b', [`localhost:${ports[2]}`]: 'c' },
    })
    await members[0]?.close()
    await members[2]?.close()
    // One of the peers is down: it need not be asked again.
    const again = await join(withData)
    members = [again, members[1] as ConclaveNode]
    await until(() => again.view().leader?.id === 'b')
  }, 30_000)

  it.each<[string, NodeId]>([
    ['an empty id', ''],
    ['an id that no configuration accepts', 'b=c'],
    ['an id that is too long', 'b'.repeat(300)],
    ['a number', 7],
  ])(
    'that answer with %s are refused, and nothing is stored',
    async (_what, id) => {
      const [own = 0, theirs = 0] = await freePorts(2)
      const data = mkdtempSync(pathJoin(tmpdir(), 'conclave-introduce-'))
      folders.push(data)
      const codec = new Codec()
      const keys = sealer([KEY], false)
      const peer = createSocket('udp4')
      peer.on('message', (bytes, { port, address }) => {
        const opened = keys.open(bytes)
        const envelope = typeof opened === 'string' ? null : codec.decode(opened)
        if (envelope === null || envelope instanceof Error || envelope.body.kind !== INTRODUCTION_REQUEST)
          return
        const body = { kind: INTRODUCTION, number: envelope.body['number'] as number }
        peer.send(keys.seal(codec.encode({ from: id, to: envelope.from, body })), port, address)
      })
      await new Promise<void>((resolve) => peer.bind(theirs, '127.0.0.1', resolve))
      const [options] = optionsOf(['a'], [own])
      const joining = join({ ...(options as JoinOptions), peers: [`127.0.0.1:${theirs}`], data })
      await expect(joining.then((node) => members.push(node))).rejects.toThrow(
        `the process at 127.0.0.1:${theirs} answered with the id ${JSON.stringify(id)}, which no node can have`,
      )
      peer.close()
      expect(readdirSync(data)).toEqual([])
    },
    30_000,
  )

  it('that have the same id fail to join, and the error says why', async () => {
    const ports = await freePorts(3)
    const all = optionsOf(['a', 'twin', 'twin'], ports)
    const tries = await Promise.allSettled(
      all.map((options) => join({ ...options, signal: AbortSignal.timeout(3000) })),
    )
    expect(tries.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    // The process that finds out first fails and ends, so the others may only miss it.
    const reasons = tries.map((each) => String((each as PromiseRejectedResult).reason))
    expect(
      reasons.some((reason) => reason.includes('"twin"') && reason.includes('give each its own id')),
    ).toBe(true)
  }, 30_000)

  it('that do not answer keep join waiting until the signal is aborted', async () => {
    const [one = 0, two = 0] = await freePorts(2)
    const [options] = optionsOf(['a', 'b'], [one, two])
    const signal = AbortSignal.timeout(300)
    const rejected = await join({ ...(options as JoinOptions), signal }).catch((error: unknown) => error)
    expect(rejected).toBe(signal.reason)
  }, 30_000)
})

describe('peers that join later', () => {
  it('are added, receive a vote, and are removed again', async () => {
    const ports = await freePorts(3)
    const at = (index: number): string => `127.0.0.1:${ports[index]}`
    const base = { group: 'test', key: KEY, isolation: 'thread', options: PATIENT } as const
    const a = await join({ ...base, id: 'a', listen: at(0), peers: [`b=${at(1)}`] })
    const b = await join({ ...base, id: 'b', listen: at(1), peers: [`a=${at(0)}`] })
    members = [a, b]
    void a.lead(({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())))
    await until(() => b.view().leader?.id === 'a')
    const c = await join({
      ...base,
      id: 'c',
      listen: at(2),
      peers: [`a=${at(0)}`, `b=${at(1)}`],
      options: { ...PATIENT, voters: ['a', 'b'] },
    })
    members.push(c)
    await Promise.all([a, b].map((member) => member.addPeer(`c=${at(2)}`)))
    await expect(a.addPeer(`c=${at(2)}`)).rejects.toThrow('c is already in the group')
    await until(() => c.view().leader?.id === 'a')
    await a.addVoter('c')
    await until(() => a.status().voters.flat().includes('c'))
    await expect(a.removePeer('c')).rejects.toThrow('c is a voter: remove its vote first')
    await a.removeVoter('c')
    await until(() => a.status().voters.flat().join() === 'a,b')
    await a.removePeer('c')
    expect(a.members().map(({ id }) => id)).toEqual(['a', 'b'])
  }, 30_000)
})
