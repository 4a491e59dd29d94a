/** The link to a supervisor, over a socket that the test plays. */
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { NetworkFaults } from '../../service/runtime/index.ts'
import { Supervisor } from './supervisor-link.ts'

const links = vi.hoisted(() => ({ opened: [] as { fd: number; stream: unknown }[] }))

vi.mock('node:net', async (original) => ({
  ...(await original<object>()),
  Socket: class extends PassThrough {
    constructor({ fd }: { readonly fd: number }) {
      super()
      links.opened.push({ fd, stream: this })
    }
    unref(): this {
      return this
    }
  },
}))

let notes = ''
const exits: unknown[] = []
beforeEach(() => {
  links.opened.length = 0
  exits.length = 0
  notes = ''
  vi.stubEnv('CONCLAVE_SUPERVISOR_FD', '3')
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((notes += String(text)), true))
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    exits.push(code)
    return undefined as never
  })
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** A connected supervisor, and the node that it commands. */
function lab() {
  const supervisor = Supervisor.connect()
  const received: NetworkFaults[] = []
  const node = { injectFaults: (faults: NetworkFaults) => void received.push(faults) }
  const stream = links.opened[0]?.stream as PassThrough
  const send = async (line: string): Promise<void> => {
    stream.write(`${line}\n`)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (supervisor === null) throw new Error('there is no supervisor')
  return { supervisor, node, received, stream, send }
}

it('exists only where a descriptor is named, and not for child processes', () => {
  lab()
  expect(links.opened.map(({ fd }) => fd)).toEqual([3])
  expect(process.env['CONCLAVE_SUPERVISOR_FD']).toBeUndefined()
  expect(Supervisor.connect()).toBeNull()
})

describe('an order', () => {
  it('is carried out by every node', async () => {
    const { supervisor, node, received, send } = lab()
    supervisor.injectInto([node, node])
    await send('{"faults":{"b":{"cut":true}}}')
    expect(received).toEqual([{ b: { cut: true } }, { b: { cut: true } }])
  })

  it('that came before the nodes is carried out when they have joined: the last one counts', async () => {
    const { supervisor, node, received, send } = lab()
    await send('{"faults":{"b":{"cut":true}}}')
    await send('{"faults":{"c":{"cut":false,"delayMs":[1,2],"loss":0.5}}}')
    supervisor.injectInto([node])
    expect(received).toEqual([{ c: { cut: false, delayMs: [1, 2], loss: 0.5 } }])
  })

  it('changes nothing if there was none', () => {
    const { supervisor, node, received } = lab()
    supervisor.injectInto([node])
    expect(received).toEqual([])
  })

  it.each([
    'cut everything',
    '[]',
    '{}',
    '{"faults":{"b":{}}}',
    '{"faults":{"b":{"cut":true,"loss":1}}}',
    '{"faults":{"b":{"cut":false,"delayMs":[1],"loss":0}}}',
    '{"faults":{"b":{"cut":false,"delayMs":[0,-1],"loss":0}}}',
    '{"faults":{"b":{"cut":false,"delayMs":[0,1],"loss":2}}}',
    '{"faults":{},"now":true}',
  ])('%s is reported and ignored', async (line) => {
    const { supervisor, node, received, send } = lab()
    supervisor.injectInto([node])
    await send(line)
    expect(received).toEqual([])
    expect(notes).toMatch(/^cannot parse an order of the supervisor: /)
    await send('{"faults":{}}')
    expect(received).toEqual([{}])
  })
})

describe('the state of the group', () => {
  const LOCAL = { url: 'http://127.0.0.1:9', nodes: { n1: 'down' }, cut: [['n1', 'n2']] }

  it('is passed on, also if it came before, and changes no faults', async () => {
    const { supervisor, node, received, send } = lab()
    const states: unknown[] = []
    supervisor.injectInto([node])
    await send(JSON.stringify({ local: LOCAL }))
    supervisor.onLocal((local) => states.push(local))
    await send(JSON.stringify({ local: { ...LOCAL, nodes: { n1: 'up' } } }))
    expect(states).toEqual([LOCAL, { ...LOCAL, nodes: { n1: 'up' } }])
    expect(received).toEqual([])
  })

  it.each([
    { ...LOCAL, url: 'nonsense' },
    { ...LOCAL, nodes: { n1: 'asleep' } },
    { ...LOCAL, cut: [['n1']] },
    { url: LOCAL.url },
  ])('%j is reported and ignored', async (local) => {
    const { supervisor, send } = lab()
    const states: unknown[] = []
    supervisor.onLocal((each) => states.push(each))
    await send(JSON.stringify({ local }))
    expect([states, notes.startsWith('cannot parse an order of the supervisor: ')]).toEqual([[], true])
  })
})

it.each<[string, (stream: PassThrough) => void]>([
  ['closes', (stream) => void stream.destroy()],
  ['fails', (stream) => void stream.destroy(new Error('EPIPE'))],
])('ends this process with exit code 1 when the link %s', async (_what, end) => {
  const { stream } = lab()
  end(stream)
  await new Promise((resolve) => setImmediate(resolve))
  expect(new Set(exits)).toEqual(new Set([1]))
})
