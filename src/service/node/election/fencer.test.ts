/** Devices fence the other nodes before a node leads. If they fail, the node does not lead. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../../test/support/wait.ts'
import { type ConclaveNode, join, type StoreJoinOptions, type Term } from '../index.ts'

type Order = { readonly action: 'on' | 'off'; readonly target: string; readonly token: number }

/** A switch behind HTTP that checks tokens. `answer` decides how it handles an order. */
class Switch {
  readonly orders: Order[] = []
  readonly is = new Map<string, string>()
  answer: 'obedient' | 'broken' | 'silent' | 'lies' = 'obedient'
  #greatest = 0
  readonly #server: Server

  constructor() {
    this.#server = createServer(async (request, response) => {
      const say = (code: number, body: object): void => {
        response.writeHead(code, { 'content-type': 'application/json' })
        response.end(JSON.stringify(body))
      }
      const target = new URL(request.url ?? '', 'http://x').searchParams.get('target')
      if (target !== null) {
        say(200, { status: this.is.get(target) ?? 'on' })
        return
      }
      let text = ''
      for await (const chunk of request) text += String(chunk)
      const order = JSON.parse(text) as Order
      this.orders.push(order)
      if (this.answer === 'silent') return
      if (this.answer === 'broken') say(500, { error: { message: 'out of order' } })
      else if (order.token < this.#greatest) say(409, { current: this.#greatest })
      else {
        this.#greatest = order.token
        if (this.answer === 'obedient') this.is.set(order.target, order.action)
        say(200, {})
      }
    })
  }

  async url(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** Simulates orders of a later leader. */
  overtake(token: number): void {
    this.#greatest = token
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

let folder: string
let nodes: ConclaveNode[]
let device: Switch
let url: string
const warnings: string[] = []

beforeEach(async () => {
  folder = mkdtempSync(path(tmpdir(), 'conclave-fencer-'))
  nodes = []
  warnings.length = 0
  device = new Switch()
  url = await device.url()
})

afterEach(async () => {
  await Promise.all(nodes.map((each) => each.close()))
  device.close()
  rmSync(folder, { recursive: true, force: true })
})

async function node(id: string, more: Partial<StoreJoinOptions> = {}): Promise<ConclaveNode> {
  const joined = await join({
    group: 'g',
    id,
    protocol: 'epochs',
    store: `file:${folder}`,
    isolation: 'thread',
    options: { periodMs: 300, accessMs: 30, leaseMs: 3000 },
    fencing: [{ kind: 'http', url, timeoutMs: 500 }],
    ...more,
  })
  joined.on('warning', ({ what, detail }) => warnings.push(`${what}: ${detail}`))
  nodes.push(joined)
  return joined
}

function leading(member: ConclaveNode, signal?: AbortSignal): { readonly terms: Term[] } {
  const terms: Term[] = []
  member
    .lead(
      (term) =>
        new Promise((resolve) => {
          terms.push(term)
          term.signal.addEventListener('abort', () => resolve())
        }),
      { signal },
    )
    .catch(() => {})
  return { terms }
}

it.each(['thread', 'worker'] as const)(
  'the winner fences the other nodes with its token, confirms, and only then leads, in a %s',
  async (isolation) => {
    const [a, b] = [await node('a', { isolation }), await node('b', { isolation })]
    const stopping = new AbortController()
    const first = leading(a, stopping.signal)
    await until(() => first.terms.length === 1)
    const token = first.terms[0]?.token ?? Number.NaN
    // On a busy machine a first lease may have expired.
    expect(device.orders.slice(-2)).toEqual([
      { action: 'off', target: 'b', token, by: 'a' },
      { action: 'on', target: 'a', token, by: 'a' },
    ])
    await until(() => a.status().primary === true)
    expect(b.status().primary).not.toBe(true)
    const second = leading(b)
    await a.stepDown()
    // On a busy machine a may win again before b looks.
    stopping.abort()
    await until(() => second.terms.length === 1)
    expect([device.is.get('a'), device.is.get('b')]).toEqual(['off', 'on'])
    expect(device.orders.at(-1)?.token).toBe(second.terms[0]?.token)
  },
  60_000,
)

it.each(['broken', 'silent', 'lies'] as const)(
  'with a device that is %s no node leads until the device works, and a warning says why',
  async (answer) => {
    device.answer = answer
    const [a] = [await node('a'), await node('b')]
    const held = leading(a)
    await until(() => warnings.some((text) => text.startsWith('fencing: ')))
    expect(warnings.find((text) => text.startsWith('fencing: '))).toContain(
      'some nodes are not fenced, so this node does not lead',
    )
    expect(held.terms).toEqual([])
    expect(a.view().role).not.toBe('leader')
    device.answer = 'obedient'
    await until(() => held.terms.length === 1)
  },
  60_000,
)

it('an outdated leader is refused, and does not lead', async () => {
  device.overtake(1000)
  const a = await node('a')
  await node('b')
  const held = leading(a)
  await until(() => warnings.some((text) => text.includes('refused (token 1000 was there)')))
  expect(held.terms).toEqual([])
}, 60_000)

it.each([
  [[{ kind: 'http', url: 'ftp://x' }], 'fencing[0].url: must be a URL'],
  [[{ kind: 'power' }], 'fencing[0].kind'],
  [[{ kind: 'command', command: [] }], 'fencing[0].command'],
])('%j is refused', async (fencing, problem) => {
  await expect(node('a', { fencing: fencing as StoreJoinOptions['fencing'] & {} })).rejects.toThrow(problem)
})
