/** Measurements, what nodes tell each other, and handing over to a chosen node, over real sockets in all backends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { until } from '../../../../test/support/wait.ts'
import { packageVersion } from '../election/version.ts'
import { join } from './join.ts'
import type { ConclaveNode } from './node.ts'

const IDS = ['a', 'b', 'c']
/** The machine that runs the tests is busy. */
const PATIENT = { deltaMs: 200, fastMs: 401, sigmaMs: 1000, renewalIntervalMs: 100 }

let nodes: ConclaveNode[] = []
const folder = mkdtempSync(joinPath(tmpdir(), 'conclave-observed-'))

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()))
  nodes = []
  rmSync(folder, { recursive: true, force: true })
})

async function group(isolation: 'thread' | 'worker'): Promise<readonly ConclaveNode[]> {
  const ports = await freePorts(IDS.length)
  const at = (id: string): string => `127.0.0.1:${ports[IDS.indexOf(id)] ?? 0}`
  nodes = await Promise.all(
    IDS.map((id) =>
      join({
        group: 'g',
        id,
        key: new Uint8Array(32).fill(3),
        listen: at(id),
        peers: IDS.flatMap((other) => (other === id ? [] : [`${other}=${at(other)}`])),
        isolation,
        options: PATIENT,
      }),
    ),
  )
  for (const node of nodes) {
    node.announce({ page: `http://127.0.0.1:1/${node.id}` })
    void node.lead((term) => new Promise((resolve) => term.signal.addEventListener('abort', () => resolve())))
  }
  await until(() => nodes.every((node) => node.view().leader !== null))
  return nodes
}

const leaderOf = (all: readonly ConclaveNode[]): ConclaveNode => {
  const leader = all.find((node) => node.view().role === 'leader')
  if (leader === undefined) throw new Error('no node leads')
  return leader
}

describe.each(['thread', 'worker'] as const)('nodes in a %s', (isolation) => {
  it('measure themselves, tell each other, and hand over to the chosen node', async () => {
    const all = await group(isolation)
    const [here] = all
    if (here === undefined) throw new Error('no node')
    await until(() => {
      const { measured, nodes: seen } = here.status()
      return (
        measured.latenessMs !== null && measured.delayMs !== null && seen.every(({ page }) => page !== null)
      )
    })
    const { measured, nodes: seen, warnings } = here.status()
    expect(measured).toMatchObject({ windowMs: 180_000, sigmaMs: 1000, deltaMs: 200 })
    expect(warnings.every(({ count }) => count > 0)).toBe(true)
    expect(seen.map(({ id, role, version, page }) => [id, role, version, page])).toEqual(
      IDS.map((id) => [id, 'voter', packageVersion(), `http://127.0.0.1:1/${id}`]),
    )
    await until(() => here.status().nodes.every(({ id, rttMs }) => id === 'a' || rttMs !== null))
    const b = here.status().nodes.find(({ id }) => id === 'b')
    expect(b?.address).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(b?.resolvedAddress).toBe(b?.address)
    await until(() => leaderOf(all).status().measured.renewalMarginMs !== null)

    const leader = leaderOf(all)
    await expect(leader.stepDown({ to: leader.id })).rejects.toThrow(
      `stepDown was refused: ${leader.id} is this node`,
    )
    await expect(leader.stepDown({ to: 'z' })).rejects.toThrow(
      'stepDown was refused: z is not one of the nodes',
    )
    const others = all.filter((node) => node !== leader)
    await expect(others[0]?.stepDown({ to: leader.id })).rejects.toThrow(
      'stepDown was refused: this node does not lead',
    )
    expect(leader.view().role).toBe('leader')
    const chosen = others.at(-1) as ConclaveNode
    const revoked = new Promise((resolve) => leader.once('revoked', resolve))
    const former = leader.view().leader?.token ?? 0
    // The answer comes when the chosen node leads: this node knows its token.
    const { leader: next, afterMs, ...outcome } = await leader.handOver({ to: chosen.id })
    expect(outcome).toEqual({ to: chosen.id, released: true, problem: null })
    expect(next?.id).toBe(chosen.id)
    expect(next?.token).toBeGreaterThan(former)
    expect(afterMs).toBeGreaterThanOrEqual(0)
    expect(await revoked).toMatchObject({
      reason: 'stepped down',
      detail: `this node handed over to ${chosen.id}`,
      cause: { kind: 'handed-over', node: leader.id, text: `${leader.id} handed over to ${chosen.id}` },
    })
    await until(() => all.every((node) => node.view().leader?.id === chosen.id))
    // The other nodes learn how the term ended.
    await until(() => {
      const known = chosen.status().nodes.find(({ id }) => id === leader.id)
      return known?.lastTerm?.cause.kind === 'handed-over'
    })
    await until(() => chosen.view().role === 'leader')
    expect(await chosen.stepDown({ to: leader.id })).toBe(true)
    expect(chosen.view().leader?.id).toBe(leader.id)
  }, 60_000)
})

it('a node in a store measures itself and its accesses, and cannot choose its successor', async () => {
  const node = await join({
    group: 'g',
    id: 'a',
    store: `file:${joinPath(folder, 'store')}`,
    protocol: 'epochs',
    isolation: 'thread',
  })
  nodes = [node]
  void node.lead((term) => new Promise((resolve) => term.signal.addEventListener('abort', () => resolve())))
  await until(() => node.view().role === 'leader')
  await until(() => {
    const { latenessMs, delayMs, renewalMarginMs } = node.status().measured
    return latenessMs !== null && delayMs !== null && renewalMarginMs !== null
  })
  expect(node.status().measured).toMatchObject({ sigmaMs: 25, deltaMs: 25 })
  expect(node.status().nodes[0]).toMatchObject({ id: 'a', version: packageVersion() })
  await expect(node.stepDown({ to: 'b' })).rejects.toThrow(
    'stepDown was refused: in a store the next leader cannot be chosen',
  )
}, 30_000)
