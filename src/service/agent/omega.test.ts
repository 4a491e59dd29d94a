/** Real processes under omega: the example of the paper's introduction, and a leader that is expelled while it is stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { conclave } from '../../../test/support/agents.ts'
import { until } from '../../../test/support/wait.ts'
import { type AgentEvent, getStatus, type StatusResponse, type WatchEvent, watch } from '../client/index.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname
/** Generous timeouts: a loaded machine must not make healthy nodes look dead. */
const TIMEOUT_MS = 3000
const PATIENT = ['pingMs=300', 'alphaMs=2500', `timeoutMs=${TIMEOUT_MS}`].flatMap((option) => [
  '--option',
  option,
])

/** Each question goes to all agents. */
const PATIENCE = { timeout: 25_000, interval: 100 }

const folder = mkdtempSync(join(tmpdir(), 'conclave-omega-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let up: ChildProcess | null = null
let watching = new AbortController()

afterEach(async () => {
  watching.abort()
  watching = new AbortController()
  const ended = new Promise((resolve) => up?.once('exit', resolve))
  if (up?.kill('SIGTERM') === true) await ended
  up = null
})

type Group = {
  readonly urls: ReadonlyMap<string, string>
  said(): string
  tell(line: string): void
  status(id: string): Promise<StatusResponse | null>
  /** Waits until all of them report one view in quorum under this leader (null: any leader). */
  together(leader: string | null, members: readonly string[]): Promise<StatusResponse>
}

async function start(): Promise<Group> {
  let out = ''
  let said = ''
  const words = ['up', '--protocol', 'omega', '--plain', '--http-port', '0', ...PATIENT]
  const child = spawn(CONCLAVE, words, { stdio: 'pipe' })
  up = child
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  await until(() => out.includes('n5  http'))
  const urls = new Map(
    [...out.matchAll(/^(n\d) {2}(http\S+)$/gm)].map(([, id, url]) => [id, url] as [string, string]),
  )
  const status = (id: string): Promise<StatusResponse | null> =>
    getStatus({ agent: urls.get(id) as string, signal: AbortSignal.timeout(1000) }).catch(() => null)
  return {
    urls,
    said: () => said,
    tell: (line) => child.stdin.write(`${line}\n`),
    status,
    async together(leader, members) {
      let seen: readonly (StatusResponse | null)[] = []
      await vi.waitUntil(async () => {
        seen = await Promise.all(members.map(status))
        return seen.every(
          (each) =>
            each?.leader?.id === (leader ?? seen[0]?.leader?.id ?? '') &&
            each.inQuorum === true &&
            JSON.stringify(each.view?.members) === JSON.stringify(members),
        )
      }, PATIENCE)
      return seen[0] as StatusResponse
    },
  }
}

const tokenIn = ({ leader }: StatusResponse): number => leader?.token ?? 0

async function follow(url: string, into: AgentEvent[]): Promise<void> {
  try {
    for await (const seen of watch({ agent: url, signal: watching.signal }) as AsyncIterable<WatchEvent>) {
      if (seen.type === 'event') into.push(seen.event)
    }
  } catch {
    // It was killed.
  }
}

it('survives the example of the introduction: kill, partition, heal; views and tokens only grow, and each is reported', async () => {
  const group = await start()
  const all = ['n1', 'n2', 'n3', 'n4', 'n5']
  // The first node leads: a leader stays when nodes with smaller ids join.
  const first = await group.together(null, all)
  const one = first.leader?.id as string
  const two = all.find((id) => id !== one) as string
  const five = all.findLast((id) => id !== one) as string
  const without = (...gone: readonly string[]) => all.filter((id) => !gone.includes(id))
  const events: AgentEvent[] = []
  void follow(group.urls.get(two) as string, events)

  group.tell(`kill ${one}`)
  const second = await group.together(two, without(one))
  expect(tokenIn(second)).toBeGreaterThan(tokenIn(first))

  // 5 alone is dead; with dynamic voting three of four continue.
  group.tell(`partition ${five}`)
  const third = await group.together(two, without(one, five))
  await until(() => events.some(({ view }) => view?.left.includes(five) === true))
  await vi.waitFor(
    async () =>
      expect(await group.status(five)).toMatchObject({
        leader: null,
        level: 'no-leader',
        inQuorum: false,
        self: { role: 'dead' },
      }),
    PATIENCE,
  )

  // Both return with new incarnations, and 2 stays the leader.
  group.tell(`restart ${one}`)
  group.tell('heal')
  const last = await group.together(two, all)
  expect(tokenIn(last)).toBeGreaterThan(tokenIn(third))
  const lives = Object.fromEntries(all.map((id, at) => [id, last.view?.incarnations[at]]))
  expect(lives[one]).toBeGreaterThan(1)
  expect(lives[five]).toBeGreaterThan(1)
  // All of them respond in the view after they have exchanged messages.
  await vi.waitFor(
    async () =>
      expect((await group.status(two))?.banner).toMatch(
        /^healthy: n\d leads up with token \d+; all 5 nodes are in view \d+\.n\d; the group can survive 2 failures$/,
      ),
    PATIENCE,
  )

  const views = events.flatMap(({ event, view }) => (event === 'view' && view !== undefined ? [view] : []))
  const numbers = views.map(({ id }) => id[0])
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(views.flatMap(({ joined }) => joined)).toEqual(expect.arrayContaining([one, five]))
  const tokens = events.flatMap(({ event, token }) => (event === 'elected' ? [token as number] : []))
  expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))

  const metrics = await (await fetch(`${group.urls.get('n3')}/metrics`)).text()
  expect(metrics).toContain('conclave_view_members{group="up",id="n3"} 5\n')
  expect(metrics).toContain('conclave_in_quorum{group="up",id="n3"} 1\n')
  const status = await conclave(['status', '--agent', group.urls.get('n4') as string])
  expect(status).toMatchObject({ code: 0 })
  expect(status.out).toContain(`${two} leads up`)

  // The black boxes replay as one run that satisfies every specification. Promises of the killed node are unknown, so
  // they are not checked.
  const files = await Promise.all(
    all.map(async (id) => {
      const file = join(folder, `${id}.ndjson`)
      writeFileSync(file, await (await fetch(`${group.urls.get(id)}/v1/trace`)).text())
      return file
    }),
  )
  const { code, out } = await conclave(['replay', ...files])
  expect(out).toMatch(/steps replayed: all effects are identical/)
  for (const name of ['omega-views', 'omega-lives', 'theorem-3-3-logical', 'primary-chain']) {
    expect(out).toMatch(new RegExp(`${name} +held`))
  }
  expect(out).toContain('verdict: no specification was violated')
  expect(code).toBe(0)
}, 120_000)

it('does not act under its old view after it was expelled while stopped', async () => {
  const group = await start()
  const all = ['n1', 'n2', 'n3', 'n4', 'n5']
  const first = await group.together(null, all)
  const old = tokenIn(first)
  const one = first.leader?.id as string
  const two = all.find((id) => id !== one) as string
  group.tell(`pause ${one}`)
  await until(() => group.said().includes(`${one} paused`))
  // Sent while the process is stopped, and answered first when it continues.
  const requests = Array.from({ length: 20 }, () => fetch(`${group.urls.get(one)}/leader`))
  const next = tokenIn(
    await group.together(
      two,
      all.filter((id) => id !== one),
    ),
  )
  expect(next).toBeGreaterThan(old)
  // By its own clock the others count as responding for at most the link timeout.
  await sleep(TIMEOUT_MS)
  group.tell(`resume ${one}`)
  // If the stop was longer than the time for a request, the agent closes the connection without an answer.
  const answers = (await Promise.allSettled(requests)).flatMap((each) =>
    each.status === 'fulfilled' ? [each.value] : [],
  )
  for (const answer of [...answers, await fetch(`${group.urls.get(one)}/leader`)]) {
    // oxlint-disable-next-line no-await-in-loop -- the bodies have arrived already
    const { leader } = (await answer.json()) as StatusResponse
    expect({ status: answer.status, isOld: leader?.token === old }).toEqual({ status: 503, isOld: false })
  }
  // The new leader admits it again, and it reports the end of its term once.
  const last = await group.together(two, all)
  expect(tokenIn(last)).toBeGreaterThan(next)
  const led = [...group.said().matchAll(new RegExp(`${one} (no longer )?leads with token (\\d+)`, 'g'))].map(
    ([, over, token]) => `${token} ${over ?? ''}`,
  )
  expect(led.slice(-2)).toEqual([`${old} `, `${old} no longer `])
}, 120_000)
