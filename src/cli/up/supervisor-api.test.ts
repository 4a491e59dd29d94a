import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ErrorResponse, LocalResponse } from '../../service/client/index.ts'
import type { LocalAgent } from './local-agent.ts'
import { LocalGroup } from './local-group.ts'
import { createSupervisorApp, startSupervisorApi } from './supervisor-api.ts'

const IDS = ['n1', 'n2', 'n3']
const PAGE = 'http://127.0.0.1:7480'

/** Agents that record what is done to them. */
function lab() {
  const done: string[] = []
  const announced: LocalResponse[] = []
  const agents = IDS.map((id, index) => {
    const agent = {
      id,
      url: `http://127.0.0.1:${7480 + index}`,
      state: 'up',
      starts: 1,
      isLeader: id === 'n1',
      kill: async () => (done.push(`kill ${id}`), (agent.state = 'down'), true),
      start: () => (done.push(`start ${id}`), (agent.state = 'up'), (agent.starts += 1), true),
      pause: (isPaused: boolean) => (done.push(`pause ${id} ${isPaused}`), (agent.state = 'paused'), true),
      injectFaults: () => {},
      announce: (local: LocalResponse) => void announced.push(local),
      stepDown: async (to: string | null) => {
        done.push(`step-down ${id} ${to}`)
        return to === 'n3' ? 'n3 is unreachable' : null
      },
    }
    return agent
  })
  const group = new LocalGroup(() => agents as unknown as readonly LocalAgent[])
  return { group, done, announced, agents }
}

function app() {
  const made = lab()
  const signal = new AbortController().signal
  const hono = createSupervisorApp(made.group, {
    signal,
    url: () => 'http://127.0.0.1:9',
    announce: () => {},
  })
  const post = async (path: string, body?: unknown, headers: Record<string, string> = { origin: PAGE }) => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await hono.request(`/v1/local/${path}`, { method: 'POST', headers, ...text })
    return { status: response.status, headers: response.headers, json: await response.json() }
  }
  return { ...made, hono, post }
}

const errorIn = ({ json }: { readonly json: unknown }): ErrorResponse['error'] =>
  (json as ErrorResponse).error

describe('the supervisor of a local group', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['kill', { id: 'n2' }, ['kill n2']],
    ['restart', { id: 'n2' }, ['start n2']],
    ['pause', { id: 'n2' }, ['pause n2 true']],
    ['resume', { id: 'n2' }, ['pause n2 false']],
    ['step-down', {}, ['step-down n1 null']],
    ['step-down', undefined, ['step-down n1 null']],
    ['step-down', { to: 'n2' }, ['step-down n1 n2']],
  ])('does %s with %j', async (path, body, expected) => {
    const { post, done } = app()
    const { status, json } = await post(path, body)
    expect([status, done]).toEqual([200, expected])
    expect(json).toMatchObject({ url: 'http://127.0.0.1:9', nodes: { n1: 'up' } })
  })

  it('cuts the links between two sides, or one direction of one link, and heals them', async () => {
    const { post } = app()
    const sides = (await post('partition', { sides: [['n1'], ['n2', 'n3']] })).json as LocalResponse
    expect(sides.cut.map((pair) => pair.join(' ')).toSorted()).toEqual(['n1 n2', 'n1 n3', 'n2 n1', 'n3 n1'])
    expect(((await post('heal')).json as LocalResponse).cut).toEqual([])
    expect(((await post('partition', { cut: [['n1', 'n2']] })).json as LocalResponse).cut).toEqual([
      ['n1', 'n2'],
    ])
  })

  it.each<[string, unknown, number, string]>([
    ['kill', { id: 'n9' }, 404, 'n9 is not a node of this group; its nodes are n1, n2, n3'],
    ['kill', { id: 'all' }, 404, 'all is not a node of this group; its nodes are n1, n2, n3'],
    ['kill', {}, 400, 'the body must be {"id": "n1"}'],
    ['kill', { id: 7 }, 400, 'the body must be {"id": "n1"}'],
    ['pause', [], 400, 'the body must be {"id": "n1"}'],
    [
      'partition',
      { sides: [] },
      400,
      'the body must be {"sides": [["n1"], ["n2", "n3"]]} or {"cut": [["n1", "n2"]]}',
    ],
    [
      'partition',
      { sides: [['n1', 'x y']] },
      404,
      'x y is not a node of this group; its nodes are n1, n2, n3',
    ],
    ['step-down', { to: 'n3' }, 409, 'n3 is unreachable'],
    ['heal', { id: 'n1' }, 400, 'the body must be {}'],
    ['explode', { id: 'n1' }, 404, 'unknown path: POST /v1/local/explode'],
  ])('refuses %s %j with %i in words', async (path, body, status, message) => {
    const { post } = app()
    const response = await post(path, body)
    expect([response.status, errorIn(response).message]).toEqual([status, message])
  })

  it('refuses a page of another origin and another host, and does nothing', async () => {
    const { post, hono, done } = app()
    const foreign = await post('kill', { id: 'n1' }, { origin: 'http://evil.example' })
    expect([foreign.status, errorIn(foreign).code]).toEqual([403, 'ForeignOrigin'])
    expect(foreign.headers.get('access-control-allow-origin')).toBe(null)
    const rebound = await post('kill', { id: 'n1' }, { host: 'evil.example' })
    expect([rebound.status, errorIn(rebound).code]).toEqual([403, 'UnknownHost'])
    const asked = await hono.request('/v1/local/kill', {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example' },
    })
    expect([asked.status, done]).toEqual([403, []])
  })

  it('lets the pages of its agents send JSON from another port', async () => {
    const { hono } = app()
    for (const origin of [PAGE, 'http://localhost:7482']) {
      // oxlint-disable-next-line no-await-in-loop -- two requests
      const { status, headers } = await hono.request('/v1/local/kill', {
        method: 'OPTIONS',
        headers: { origin },
      })
      expect([
        status,
        headers.get('access-control-allow-origin'),
        headers.get('access-control-allow-headers'),
      ]).toEqual([204, origin, 'Content-Type'])
    }
  })
})

describe('the announcement to the agents', () => {
  let stop: () => Promise<void> = async () => {}
  beforeEach(() => void (stop = async () => {}))
  afterEach(() => stop())

  it('is sent at the start and after each change, also to an agent that was started again', async () => {
    const { group, announced, agents } = lab()
    const api = await startSupervisorApi(group, new AbortController().signal)
    stop = () => api.close()
    expect(announced).toHaveLength(3)
    expect(announced[0]).toEqual({ url: api.url, nodes: { n1: 'up', n2: 'up', n3: 'up' }, cut: [] })
    api.announce()
    expect(announced).toHaveLength(3)
    for (const agent of agents.slice(1, 2)) agent.state = 'paused'
    api.announce()
    expect(announced.at(-1)?.nodes).toEqual({ n1: 'up', n2: 'paused', n3: 'up' })
    for (const agent of agents.slice(0, 1)) agent.starts += 1
    api.announce()
    expect(announced).toHaveLength(9)
    expect(((await (await fetch(`${api.url}/v1/local`)).json()) as LocalResponse).url).toBe(api.url)
  })
})
