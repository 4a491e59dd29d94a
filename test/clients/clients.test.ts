/** The clients in Python and Go, against real agents. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { getLeader, stepDown } from '../../src/service/client/index.ts'
import { until } from '../support/wait.ts'
import { ADMIN, describeClients, Group, type Language, type Line, Worker } from './support.ts'

const IDS = ['a', 'b'] as const
type Id = (typeof IDS)[number]
const otherThan = (id: Id): Id => (id === 'a' ? 'b' : 'a')
const TIMEOUT_MS = 120_000
const PATIENCE = { timeout: 60_000, interval: 200 }

/** An action of an older term after one of a newer term, or one token with two holders. */
function judge(workers: readonly Worker[]): readonly string[] {
  const actions = workers
    .flatMap(({ lines }, worker) => lines.map((line) => ({ ...line, worker })))
    .filter(({ event }) => event === 'acted')
    .toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0))
  return actions.slice(1).flatMap((line, index) => {
    const before = actions[index] as (typeof actions)[number]
    const isStale = (line.token ?? 0) < (before.token ?? 0)
    const isShared = line.token === before.token && line.worker !== before.worker
    return isStale || isShared ? [`${JSON.stringify(before)} was followed by ${JSON.stringify(line)}`] : []
  })
}

it('the judge of this file finds a stale action, and a token with two holders', () => {
  const acts = (...lines: readonly Line[]): Worker =>
    ({ lines: lines.map((line) => ({ event: 'acted', ...line })) }) as unknown as Worker
  const one = acts({ token: 1, at: 1 }, { token: 1, at: 3 })
  expect(judge([one, acts({ token: 2, at: 4 })])).toEqual([])
  expect(judge([one, acts({ token: 2, at: 2 })])).toHaveLength(1)
  expect(judge([one, acts({ token: 1, at: 4 })])).toHaveLength(1)
})

const group = new Group()
beforeAll(() => group.start(), TIMEOUT_MS)
afterAll(() => group.close())

/** Two programs contend, each beside its own agent. */
class Contest {
  readonly all: Worker[]
  readonly #beside: { readonly [id in Id]: Worker }

  constructor(language: Language) {
    const start = (id: Id): Worker =>
      new Worker(language, ['lead', '--agent', group.url(id), '--admin-token', ADMIN])
    this.#beside = { a: start('a'), b: start('b') }
    this.all = [this.#beside.a, this.#beside.b]
  }

  beside(id: Id): Worker {
    return this.#beside[id]
  }

  /** Waits until one of them acts in the newest term. */
  async holder(): Promise<Id> {
    const find = (): Id | undefined =>
      IDS.find((id) => {
        const mine = this.beside(id)
        return mine.lines.at(-1)?.event === 'acted' && mine.token > this.beside(otherThan(id)).token
      })
    await until(() => find() !== undefined)
    return find() ?? this.holder()
  }

  /** Moves the leadership until this program acts with a token above the given one. */
  async moveTo(id: Id, token: number): Promise<void> {
    await vi.waitFor(async () => {
      if (this.beside(id).token > token) return
      // It may be refused: the other agent does not lead, or is dead.
      await stepDown({ agent: group.url(otherThan(id)), adminToken: ADMIN, to: id }).catch(() => {})
      await vi.waitUntil(() => this.beside(id).token > token, { timeout: 1500, interval: 5 })
    }, PATIENCE)
  }
}

function describeClient(language: Language): void {
  const once = async (...words: readonly string[]): Promise<{ code: number | null; line: Line }> => {
    const worker = new Worker(language, words)
    const code = await worker.ended
    expect(worker.errors).toBe('')
    return { code, line: worker.lines.at(-1) ?? {} }
  }
  let contest: Contest
  beforeAll(() => {
    contest = new Contest(language)
  })
  afterAll(() => Promise.all(contest.all.map((worker) => worker.end())))

  it(
    'ends its work when the agent hands over, and the other continues',
    async () => {
      // On a busy machine a lease can expire before the request arrives, or a node can be unreachable for a moment.
      const end = await vi.waitFor(async () => {
        const id = await contest.holder()
        const words = ['--agent', group.url(id), '--admin-token', ADMIN, '--to', otherThan(id)]
        const { code, line } = await once('step-down', ...words)
        expect([code, line]).toMatchObject([0, { id, to: otherThan(id) }])
        await until(() => contest.all.some(({ token }) => token > (line.token ?? 0)))
        const found = contest
          .beside(id)
          .lines.find((each) => each.event === 'ended' && each.token === line.token)
        expect(found?.reason).toBe('handover')
        return found
      }, PATIENCE)
      expect(end).toMatchObject({ reason: 'handover', held: true })
      expect(judge(contest.all)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'does not act any more when it was stopped beyond its lease',
    async () => {
      const id = await contest.holder()
      const stopped = contest.beside(id)
      stopped.signal('SIGSTOP')
      const { token } = stopped
      await contest.moveTo(otherThan(id), token)
      stopped.signal('SIGCONT')
      const end = await stopped.said((line) => line.event === 'ended' && line.token === token)
      expect(end).toMatchObject({ reason: 'lost', held: false })
      expect(judge(contest.all)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'stops before its lease expires when the agent is killed, and leads again after the restart',
    async () => {
      const id = await contest.holder()
      const [killed, other] = [contest.beside(id), contest.beside(otherThan(id))]
      const watcher = new Worker(language, ['watch', '--agent', group.url(id)])
      onTestFinished(() => watcher.end())
      await watcher.said(({ event }) => event === 'snapshot')
      const { token } = killed
      await group.agent(id).kill('SIGKILL')
      const end = await killed.said((line) => line.event === 'ended' && (line.token ?? 0) >= token)
      expect(end).toMatchObject({ reason: 'lost', held: false })
      await until(() => other.token > token)
      group.startAgent(id)
      await contest.moveTo(id, other.token)
      const snapshots = (): number => watcher.lines.filter(({ event }) => event === 'snapshot').length
      await until(() => snapshots() > 1)
      expect(judge(contest.all)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it('tells who leads', async () => {
    const id = await contest.holder()
    const { code, line } = await once('leader', '--agent', group.url(id))
    const { leader } = await getLeader({ agent: group.url(id) })
    expect([code, Object.keys(line)]).toEqual([0, expect.arrayContaining(['leader', 'token', 'role'])])
    // Unless a busy machine changed the leader between the two requests.
    if (line.token === leader?.token) expect(line['leader']).toBe(leader?.id)
  })

  it.each<[string, readonly string[], Line]>([
    ['a wrong token', ['step-down', '--admin-token', 'wrong'], { error: 'InvalidAdminToken', status: 401 }],
    ['a wrong token, in lead', ['lead', '--admin-token', 'wrong'], { error: 'InvalidAdminToken' }],
    ['an unknown group', ['leader', '--group', 'none'], { error: 'UnknownGroup', status: 404 }],
    ['an unknown group, in watch', ['watch', '--group', 'none'], { error: 'UnknownGroup', status: 404 }],
    ['a node that never leads', ['step-down', '--admin-token', ADMIN], { error: 'NotLeader', status: 409 }],
  ])('reports %s', async (_what, [command = '', ...words], expected) => {
    // The witness refuses a wrong token at once, too, and never leads.
    const { code, line } = await once(command, '--agent', group.url('w'), ...words)
    expect(code).toBe(1)
    expect(line).toMatchObject(expected)
  })

  it(
    'releases its claim on SIGTERM',
    async () => {
      const worker = contest.beside(await contest.holder())
      worker.signal('SIGTERM')
      expect(await worker.ended).toBe(0)
      expect(worker.lines.at(-1)).toEqual({ event: 'stopped' })
      expect([worker.errors, ...judge(contest.all)]).toEqual([''])
    },
    TIMEOUT_MS,
  )
}

await describeClients(group.place.folder, describeClient)
