import { afterEach, describe, expect, it } from 'vitest'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import {
  claimAddress,
  type Isolation,
  knownPeersAt,
  queueAt,
  trackTeardown,
  waitUntilFree,
} from './address-claims.ts'

const LISTEN = { host: '127.0.0.1', port: 7400 }

const settings = (group: string, change: Partial<NetworkElectionSettings> = {}): NetworkElectionSettings => ({
  group,
  id: 'a',
  listen: LISTEN,
  peers: [{ id: 'b', address: { host: '10.0.0.2', port: 7400 } }],
  nodes: ['a', 'b'],
  keys: [new Uint8Array(32).fill(7)],
  secrecy: false,
  data: null,
  protocol: 'local-leader',
  options: {},
  traceSteps: 0,
  ...change,
})

let releases: (() => void)[] = []
afterEach(() => {
  for (const release of releases) release()
  releases = []
})

function claim(given: NetworkElectionSettings, isolation: Isolation = 'worker'): () => void {
  const release = claimAddress(given, isolation)
  releases.push(release)
  return release
}

describe('claimAddress', () => {
  it('lets groups share an address on which they agree', () => {
    claim(settings('x'))
    expect(() => claim(settings('y', { peers: [] }))).not.toThrow()
  })

  it.each<[string, string, Partial<NetworkElectionSettings>, Isolation, string]>([
    ['the same group', 'group', { group: 'x' }, 'worker', 'this process has already joined "x"'],
    ['another id', 'id', { id: 'z' }, 'worker', 'is z here but a in "x"'],
    ['another key', 'key', { keys: [new Uint8Array(32)] }, 'worker', 'is one key here but another in "x"'],
    [
      'another number of keys',
      'key',
      { keys: [new Uint8Array(32).fill(7), new Uint8Array(32)] },
      'worker',
      'is one key here but another in "x"',
    ],
    ['another secrecy', 'secrecy', { secrecy: true }, 'worker', 'is true here but false in "x"'],
    ['another isolation', 'isolation', {}, 'thread', 'is thread here but worker in "x"'],
  ])('refuses %s', (_what, field, change, isolation, message) => {
    claim(settings('x'))
    let thrown: unknown
    try {
      claim(settings('y', change), isolation)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(InvalidOptionsError)
    expect(thrown).toMatchObject({ field, message: expect.stringContaining(message) })
    if (field !== 'group')
      expect((thrown as Error).message).toContain(
        'which this process has joined on the same address, 127.0.0.1:7400; use the same value, or another address',
      )
  })

  it('does not bind groups that let the system choose the port', () => {
    const anywhere = { listen: { host: '127.0.0.1', port: 0 } }
    claim(settings('x', anywhere))
    expect(() => claim(settings('x', { ...anywhere, id: 'z' }), 'thread')).not.toThrow()
    expect(knownPeersAt(anywhere.listen)).toBeNull()
  })

  it('frees the address with the last group, whose settings then no longer count', () => {
    const [x, y] = [claim(settings('x')), claim(settings('y'))]
    x()
    expect(() => claim(settings('z', { secrecy: true }))).toThrow('secrecy')
    y()
    expect(() => claim(settings('z', { secrecy: true }), 'thread')).not.toThrow()
  })

  it('releases a claim once: not the claim that another node has made since', () => {
    const first = claim(settings('x'))
    first()
    claim(settings('x'))
    first()
    expect(() => claim(settings('x'))).toThrow('already joined')
  })
})

it('knows the ids of the peers of all groups on an address', () => {
  expect(knownPeersAt(LISTEN)).toBeNull()
  claim(settings('x'))
  const release = claim(settings('y', { peers: [{ id: 'c', address: { host: '::1', port: 1 } }] }))
  expect([...(knownPeersAt(LISTEN) ?? [])]).toEqual([
    ['10.0.0.2:7400', 'b'],
    ['[::1]:1', 'c'],
  ])
  release()
  expect([...(knownPeersAt(LISTEN) ?? [])]).toEqual([['10.0.0.2:7400', 'b']])
})

describe('queueAt', () => {
  /** An action that waits until the test lets it go on. */
  function action(name: string, log: string[]) {
    const handle: { go: () => void; fail: (error: Error) => void } = { go: () => {}, fail: () => {} }
    const wait = new Promise<void>((resolve, reject) => {
      handle.go = resolve
      handle.fail = reject
    })
    const act = async (): Promise<string> => {
      log.push(`${name} starts`)
      await wait
      log.push(`${name} ends`)
      return name
    }
    return { act, handle }
  }
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  it('runs calls for one address one after the other, and others at once', async () => {
    const log: string[] = []
    const [one, two, other] = [action('one', log), action('two', log), action('other', log)]
    const calls = [
      queueAt(LISTEN, one.act),
      queueAt(LISTEN, two.act),
      queueAt({ host: '127.0.0.1', port: 7401 }, other.act),
    ]
    await settle()
    expect(log).toEqual(['one starts', 'other starts'])
    two.handle.go()
    other.handle.go()
    one.handle.go()
    expect(await Promise.all(calls)).toEqual(['one', 'two', 'other'])
    expect(log.filter((line) => !line.startsWith('other'))).toEqual([
      'one starts',
      'one ends',
      'two starts',
      'two ends',
    ])
  })

  it('continues after a call that failed, which only its caller hears of', async () => {
    const log: string[] = []
    const [bad, good] = [action('bad', log), action('good', log)]
    const first = queueAt(LISTEN, bad.act).catch((error: Error) => error.message)
    const second = queueAt(LISTEN, good.act)
    good.handle.go()
    bad.handle.fail(new Error('in use'))
    expect([await first, await second]).toEqual(['in use', 'good'])
  })

  it('does not queue calls for a port that the system chooses', async () => {
    const log: string[] = []
    const [one, two] = [action('one', log), action('two', log)]
    const anywhere = { host: '127.0.0.1', port: 0 }
    const calls = [queueAt(anywhere, one.act), queueAt(anywhere, two.act)]
    await settle()
    expect(log).toEqual(['one starts', 'two starts'])
    one.handle.go()
    two.handle.go()
    await Promise.all(calls)
  })
})

describe('waitUntilFree', () => {
  it('waits for every teardown of a resource, also for a teardown that fails', async () => {
    const ends: (() => void)[] = []
    const pending = (): Promise<void> => new Promise((resolve) => ends.push(resolve))
    trackTeardown(['/data', '127.0.0.1:1'], pending())
    trackTeardown(['/data'], pending())
    trackTeardown(['/data'], Promise.reject(new Error('lost')))
    let isFree = false
    const waiting = waitUntilFree(['/data']).then(() => (isFree = true))
    await waitUntilFree(['/elsewhere'])
    ends[1]?.()
    await new Promise((resolve) => setImmediate(resolve))
    expect(isFree).toBe(false)
    ends[0]?.()
    await waiting
    expect(isFree).toBe(true)
    await waitUntilFree(['127.0.0.1:1', '/data'])
  })
})
