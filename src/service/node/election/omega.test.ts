/** Omega in real processes: with the election in a worker, and beside local-leader on the same address. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { Program } from '../../../../test/support/program.ts'
import { until } from '../../../../test/support/wait.ts'

const IDS = ['a', 'b', 'c'] as const
type Id = (typeof IDS)[number]

/**
 * Joins a group of omega and, with `leases`, a group of local-leader on the same address. Its first term under omega
 * busy-waits until it is over, without yielding to the event loop: its knowledge comes from shared memory, not from
 * events.
 */
const PROGRAM = `
import { join } from 'conclave'
const { id, ports, folder, leases, spins, cutOff } = JSON.parse(process.argv[2])
const ids = ['a', 'b', 'c']
const say = (...words) => console.log(words.join(' '))
const into = (group, more) => join({
  group, id, key: new Uint8Array(32).fill(7), data: folder + '/' + id + '-' + group,
  listen: '127.0.0.1:' + ports[ids.indexOf(id)],
  peers: ids.filter((other) => other !== id).map((other) => other + '=127.0.0.1:' + ports[ids.indexOf(other)]),
  maxStallMs: 60000, isolation: 'worker', ...more,
})
const node = await into('views', { protocol: 'omega', options: { pingMs: 300, alphaMs: 900, timeoutMs: 1500 } })
node.on('view', ({ members }) => say('view', members.join()))
node.on('revoked', ({ token, reason }) => say('revoked', token, reason))
const following = async (name, of) => {
  for await (const { leader } of of.observe()) say(name, leader === null ? 'none' : leader.id + ' ' + leader.token)
}
void following('views', node)
if (leases) {
  const other = await into('leases', { options: { sigmaMs: 300, renewalIntervalMs: 100 } })
  void following('leases', other)
  void other.lead((term) => new Promise((resolve) => term.signal.addEventListener('abort', resolve)))
}
const isWhole = () => node.status().membership?.view?.members.length === 3
// The first leader is a: the others call lead later.
while (id !== 'a' && !(isWhole() && node.view().leader?.id === 'a')) await new Promise((resolve) => setTimeout(resolve, 20))
let terms = 0
await node.lead(async (term) => {
  say('term', term.token)
  if (!spins || terms > 0) return new Promise((resolve) => term.signal.addEventListener('abort', resolve))
  // The view is reported a moment after the term.
  while (!isWhole() && !term.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 10))
  if (term.signal.aborted) return
  terms += 1
  if (cutOff) {
    node.injectFaults({ b: { cut: true }, c: { cut: true } })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  say('spinning', term.token)
  let left = term.remaining()
  for (;;) {
    const now = term.remaining()
    if (now === 0) break
    left = now
  }
  let how = 'held'
  try { term.assertHeld() } catch (error) { how = error.name }
  say('over', term.token, left > 200 ? 'in-time' : 'by-the-clock', how, term.signal.aborted)
})
`

let programs: Map<Id, Program> = new Map()
let folder = ''

afterEach(async () => {
  await Promise.all([...programs.values()].map((program) => program.kill()))
  programs = new Map()
  rmSync(folder, { recursive: true, force: true })
})

async function started(words: { leases?: true; spins?: true; cutOff?: true }): Promise<(id: Id) => Program> {
  const ports = await freePorts(IDS.length)
  folder = mkdtempSync(join(tmpdir(), 'conclave-omega-member-'))
  programs = new Map(
    IDS.map((id) => {
      const own = { id, ports, folder, leases: words.leases, ...(id === 'a' ? words : {}) }
      return [id, new Program(PROGRAM, [JSON.stringify(own)])]
    }),
  )
  return (id) => programs.get(id) as Program
}

const last = (lines: readonly string[]): string => lines.at(-1) ?? ''

it('a term ends in shared memory with its view, while the application is blocked and its peers still answer', async () => {
  const at = await started({ spins: true })
  await until(() => at('a').said('spinning').length > 0)
  const token = last(at('a').said('spinning'))
  await at('c').kill()
  // a and b are the majority of the old view and answer all the time: by the clock alone it would never end.
  await until(() => at('a').said('over').length > 0)
  // The call that finds the term ended may also abort its signal.
  expect(at('a').said('over')).toHaveLength(1)
  expect(last(at('a').said('over'))).toMatch(new RegExp(`^${token} in-time LeadershipLostError `))
  await until(() => last(at('b').said('view')) === 'a,b')
  await until(() => Number(last(at('a').said('term'))) > Number(token))
}, 60_000)

it('a leader that is cut off while it is blocked finds its term lost before any event arrives', async () => {
  const at = await started({ spins: true, cutOff: true })
  await until(() => at('a').said('over').length > 0)
  const [token, , how] = last(at('a').said('over')).split(' ')
  expect(how).toBe('LeadershipLostError')
  await until(() => last(at('b').said('view')) === 'b,c')
  await until(() => at('a').said('revoked').length > 0)
  expect(last(at('a').said('revoked'))).toMatch(new RegExp(`^${token} `))
  await until(() => last(at('b').said('views')).startsWith('b '))
  expect(Number(last(at('b').said('views')).split(' ')[1])).toBeGreaterThan(Number(token))
}, 60_000)

it('omega and local-leader over one address: a killed leader is replaced in both groups', async () => {
  const at = await started({ leases: true })
  const led = (id: Id, name: string): string => last(at(id).said(name)).split(' ')[0] as string
  const isLed = (id: Id, name: string): boolean => IDS.includes(led(id, name) as Id)
  await until(() => IDS.every((id) => isLed(id, 'views') && last(at(id).said('view')) === 'a,b,c'))
  // There is one endpoint at the address: a second one would be refused.
  await until(() => IDS.every((id) => isLed(id, 'leases')))
  const [views, leases] = [led('b', 'views'), led('b', 'leases')]
  const victim = views as Id
  const others = IDS.filter((id) => id !== victim)
  await at(victim).kill()
  await until(() => others.every((id) => others.includes(led(id, 'views') as Id)))
  await until(() => others.every((id) => others.includes(led(id, 'leases') as Id)))
  // If another node led, it keeps leading.
  if (leases !== victim) expect(led(others[0] as Id, 'leases')).toBe(leases)
  expect(last(at(others[0] as Id).said('view'))).toBe(others.join())
}, 60_000)
