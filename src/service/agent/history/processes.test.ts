/** The history of real agents: why each term ended, as the other agents tell it. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type AgentProcess, conclave, Workplace } from '../../../../test/support/agents.ts'
import { freePorts } from '../../../../test/support/ports.ts'
import { getHistory, getStatus, type HistoryResponse, type StatusResponse } from '../../client/index.ts'

const IDS = ['a', 'b', 'c']
/** The machine that runs the tests is busy: elections take longer there. */
const PATIENCE = { timeout: 50_000, interval: 100 }

let place: Workplace
let udp: readonly number[]
let http: readonly number[]
const agents = new Map<string, AgentProcess>()

const urlOf = (id: string): string => `http://127.0.0.1:${http[IDS.indexOf(id)]}`

function start(id: string): void {
  const at = (index: number): string => `127.0.0.1:${udp[index]}`
  const peers = IDS.flatMap((peer, index) => (peer === id ? [] : ['--peer', `${peer}=${at(index)}`]))
  const node = ['--group', 'g', '--id', id, '--listen', at(IDS.indexOf(id)), ...peers]
  const files = [
    '--key-file',
    place.path('key'),
    '--data',
    place.path(id),
    '--admin-token-file',
    place.path('admin'),
  ]
  const slack = ['--option', 'sigmaMs=300', '--option', 'deltaMs=100', '--option', 'fastMs=250']
  agents.set(id, place.start([...node, ...files, ...slack, '--http', urlOf(id).slice('http://'.length)]))
}

beforeAll(async () => {
  place = new Workplace()
  ;[udp, http] = await Promise.all([freePorts(3), freePorts(3)])
  for (const id of IDS) start(id)
}, 60_000)
afterAll(() => place.close())

const statusOf = (id: string): Promise<StatusResponse | null> =>
  getStatus({ agent: urlOf(id), signal: AbortSignal.timeout(2000) }).catch(() => null)
const historyOf = (id: string): Promise<HistoryResponse | null> =>
  getHistory({ agent: urlOf(id), signal: AbortSignal.timeout(2000) }).catch(() => null)

/** The node that all agents follow, with its token. */
async function settled(): Promise<{ readonly leader: string; readonly token: number | null }> {
  return vi.waitFor(async () => {
    const all = await Promise.all(IDS.map(statusOf))
    const leaders = new Set(all.map((status) => `${status?.leader?.id} ${status?.leader?.token}`))
    const leader = all[0]?.leader ?? null
    if (leaders.size !== 1 || leader === null) throw new Error(`not yet: ${[...leaders].join(', ')}`)
    if (!all.every((status) => status?.nodes.every(({ reachable }) => reachable)))
      throw new Error('unreachable')
    return { leader: String(leader.id), token: leader.token }
  }, PATIENCE)
}

const otherThan = (id: string): string => IDS.find((each) => each !== id) ?? ''

it('says that the process of a killed leader ended, and hands over to the chosen node', async () => {
  const first = await settled()
  const witness = otherThan(first.leader)
  // The other agents know its page by then.
  await vi.waitUntil(
    async () => (await statusOf(witness))?.nodes.every(({ id, page }) => id === witness || page !== null),
    PATIENCE,
  )
  const { leader, token } = await settled()
  await agents.get(leader)?.kill('SIGKILL')
  const seenBy = otherThan(leader)
  const crashed = await vi.waitFor(async () => {
    const history = await historyOf(seenBy)
    const term = history?.terms.findLast((each) => each.leader === leader)
    if (term?.ended?.kind !== 'crashed') throw new Error(`not yet: ${JSON.stringify(term)}`)
    return { term, gap: history?.terms.find(({ number }) => number === term.number + 1) }
  }, PATIENCE)
  expect(crashed.term).toMatchObject({ leader, token, ended: { kind: 'crashed', node: leader } })
  expect(crashed.term.ended?.text).toMatch(/^the process of \w ended/)
  expect(crashed.gap).toMatchObject({ leader: null, cause: { kind: 'crashed' } })

  start(leader)
  const second = await settled()
  const successor = otherThan(second.leader)
  const handOver = ['step-down', '--agent', urlOf(second.leader), '--to', successor]
  const { code, out, said } = await conclave([...handOver, '--admin-token-file', place.path('admin')])
  expect([code, said]).toEqual([0, ''])
  expect(out).toContain(
    `${second.leader} stepped down with token ${second.token} and handed over to ${successor}`,
  )
  await vi.waitFor(async () => {
    const terms = (await historyOf(successor))?.terms ?? []
    const index = terms.findIndex((each) => each.token === second.token && each.ended?.kind === 'handed-over')
    if (index < 0) throw new Error(`not yet: ${JSON.stringify(terms.slice(-3))}`)
    expect(terms.slice(index + 1).find((each) => each.leader !== null)?.leader).toBe(successor)
  }, PATIENCE)
}, 200_000)
