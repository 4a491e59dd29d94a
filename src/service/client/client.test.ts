import { describe, expect, it } from 'vitest'
import {
  AgentUnreachableError,
  claim,
  type Fetch,
  getLeader,
  getMembers,
  getStatus,
  RequestRefusedError,
  release,
  removeNode,
  stepDown,
  type WatchEvent,
  watch,
} from './index.ts'

const AGENT = 'http://127.0.0.1:7480'

type Request = { readonly url: string; readonly init: Parameters<Fetch>[1] }

/** A fetch that records the requests and returns one response. */
function fakeFetch(
  respond: (request: Request) => { status?: number; json?: unknown; body?: readonly string[] },
) {
  const requests: Request[] = []
  const fetch: Fetch = async (url, init) => {
    const request = { url: url.href, init }
    requests.push(request)
    const { status = 200, json, body } = respond(request)
    return {
      ok: status >= 200 && status < 300,
      status,
      body: body === undefined ? null : toChunks(body),
      json: async () => {
        if (json === undefined) throw new SyntaxError('Unexpected token <')
        return json
      },
    }
  }
  return { fetch, requests }
}

async function* toChunks(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

const failingFetch =
  (error: Error): Fetch =>
  () =>
    Promise.reject(error)

describe('requests', () => {
  it('names the path and the group, and refuses redirects', async () => {
    const { fetch, requests } = fakeFetch(() => ({ json: { group: 'billing' } }))
    await getLeader({ agent: AGENT, group: 'billing', fetch })
    await getStatus({ agent: AGENT, fetch })
    await getMembers({ agent: AGENT, group: null, fetch })
    expect(requests.map(({ url }) => url)).toEqual([
      `${AGENT}/v1/leader?group=billing`,
      `${AGENT}/v1/status`,
      `${AGENT}/v1/members`,
    ])
    expect(requests.map(({ init }) => init.redirect)).toEqual(['error', 'error', 'error'])
  })

  it('sends the admin token and the body of admin requests', async () => {
    const { fetch, requests } = fakeFetch(() => ({ json: {} }))
    const options = { agent: AGENT, adminToken: 'secret', fetch }
    await stepDown(options)
    await removeNode({ ...options, id: 'n3' })
    await claim({ ...options, claim: null })
    await release({ ...options, claim: 'a/b&c' })
    expect(requests.map(({ url, init }) => [init.method, url.slice(AGENT.length), init.body])).toEqual([
      ['POST', '/v1/step-down', undefined],
      ['POST', '/v1/remove', '{"id":"n3"}'],
      ['POST', '/v1/claim', '{"claim":null}'],
      ['DELETE', '/v1/claim?claim=a%2Fb%26c', undefined],
    ])
    expect(requests.every(({ init }) => init.headers?.['authorization'] === 'Bearer secret')).toBe(true)
  })

  it('sends no authorization header without an admin token', async () => {
    const { fetch, requests } = fakeFetch(() => ({ json: {} }))
    await stepDown({ agent: AGENT, adminToken: null, fetch })
    expect(requests[0]?.init.headers).toEqual({})
  })
})

describe('errors', () => {
  it('carries status, kind and field of a refusal', async () => {
    const error = { code: 'NotLeader', message: 'b does not lead; the leader is a', field: null }
    const { fetch } = fakeFetch(() => ({ status: 409, json: { error } }))
    const refused = await stepDown({ agent: AGENT, adminToken: 'x', fetch }).catch(
      (thrown: unknown) => thrown,
    )
    expect(refused).toBeInstanceOf(RequestRefusedError)
    expect(refused).toMatchObject({
      code: 'ERR_CONCLAVE_REQUEST_REFUSED',
      status: 409,
      kind: 'NotLeader',
      field: null,
      message: `the agent at ${AGENT} refused the request: b does not lead; the leader is a`,
    })
  })

  it('reports the status of a refusal without a JSON body', async () => {
    const { fetch } = fakeFetch(() => ({ status: 502 }))
    await expect(getLeader({ agent: AGENT, fetch })).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining('HTTP status 502'),
    })
  })

  it('recognises a server that is not an agent', async () => {
    const { fetch } = fakeFetch(() => ({}))
    await expect(getLeader({ agent: AGENT, fetch })).rejects.toThrow('is not a Conclave agent')
  })

  it('reports an unreachable agent with the cause', async () => {
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:7480')
    const error = new TypeError('fetch failed', { cause })
    const thrown = await getLeader({ agent: AGENT, fetch: failingFetch(error) }).catch(
      (each: unknown) => each,
    )
    expect(thrown).toBeInstanceOf(AgentUnreachableError)
    expect(thrown).toMatchObject({
      code: 'ERR_CONCLAVE_AGENT_UNREACHABLE',
      cause: error,
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('throws the reason of the caller’s own signal, but reports a timeout as unreachable', async () => {
    const stop = new AbortController()
    stop.abort(new Error('enough'))
    const fetch = failingFetch(new Error('aborted'))
    await expect(getLeader({ agent: AGENT, fetch, signal: stop.signal })).rejects.toThrow('enough')
    const timeout = new AbortController()
    timeout.abort(new DOMException('timed out', 'TimeoutError'))
    await expect(getLeader({ agent: AGENT, fetch, signal: timeout.signal })).rejects.toThrow(
      AgentUnreachableError,
    )
  })

  it('reports an invalid address as unreachable', async () => {
    await expect(getLeader({ agent: 'nonsense', fetch: failingFetch(new Error()) })).rejects.toThrow(
      'no agent responds at nonsense',
    )
  })
})

describe('watch', () => {
  async function collect(chunks: readonly string[], after?: string) {
    const { fetch, requests } = fakeFetch(() => ({ body: chunks }))
    const events: WatchEvent[] = []
    for await (const event of watch({ agent: AGENT, fetch, after: after ?? null })) events.push(event)
    return { events, requests }
  }

  const EVENT = '{"event":"elected","token":3}'

  it('yields the snapshot, missed events and events, however the stream is split', async () => {
    const text = `event: snapshot\ndata: {"group":"g"}\n\nevent: missed\ndata: {}\n\n: keep-alive\n\nid: run-7\nevent: elected\ndata: ${EVENT}\n\n`
    const expected = [
      { type: 'snapshot', snapshot: { group: 'g' } },
      { type: 'missed' },
      { type: 'event', id: 'run-7', event: JSON.parse(EVENT) as unknown },
    ]
    expect((await collect([text])).events).toEqual(expected)
    expect((await collect(Array.from(text))).events).toEqual(expected)
  })

  it('skips junk, and events of a newer agent', async () => {
    const junk = [
      'event: elected\ndata: {"cut',
      'event: status\ndata: 7',
      'event: history\ndata: null',
      'data: hello',
      'event: invented\ndata: {}',
      '\u0000\u0001',
      `id: run-7\nevent: elected\ndata: ${EVENT}`,
      '',
    ]
    expect((await collect([junk.join('\n\n')])).events).toEqual([
      { type: 'event', id: 'run-7', event: JSON.parse(EVENT) as unknown },
    ])
  })

  it('yields the status and changes of the history on request', async () => {
    const body = ['event: status\ndata: {"group":"g"}\n\nevent: history\ndata: {"number":3}\n\n']
    const { fetch, requests } = fakeFetch(() => ({ body }))
    const events: WatchEvent[] = []
    for await (const event of watch({ agent: AGENT, fetch, status: true, token: 'read' })) events.push(event)
    expect(events).toEqual([
      { type: 'status', status: { group: 'g' } },
      { type: 'history', term: { number: 3 } },
    ])
    expect(requests[0]?.url).toBe(`${AGENT}/v1/events`)
    expect(requests[0]?.init.headers).toMatchObject({ authorization: 'Bearer read' })
    await collect([])
    expect((await collect([])).requests[0]?.url).toBe(`${AGENT}/v1/events?only=events`)
  })

  it('drops an event that the end of the stream cuts off', async () => {
    expect((await collect([`id: run-1\nevent: elected\ndata: ${EVENT}`])).events).toEqual([])
  })

  it('keeps characters that are split between chunks', async () => {
    const bytes = new TextEncoder().encode('event: snapshot\ndata: {"group":"größe"}\n\n')
    const fetch: Fetch = async () => ({
      ok: true,
      status: 200,
      body: (async function* () {
        for (const byte of bytes) yield Uint8Array.of(byte)
      })(),
      json: () => Promise.reject(new Error('not used')),
    })
    const first = await watch({ agent: AGENT, fetch }).next()
    expect(first.value).toEqual({ type: 'snapshot', snapshot: { group: 'größe' } })
  })

  it('resumes after an event by its id', async () => {
    const { requests } = await collect([], 'run-7')
    expect(requests[0]?.init.headers).toEqual({ accept: 'text/event-stream', 'last-event-id': 'run-7' })
    expect((await collect([])).requests[0]?.init.headers).toEqual({ accept: 'text/event-stream' })
  })

  it('ends without an error when its signal is aborted, and throws when the connection breaks', async () => {
    const broken = (): AsyncGenerator<Uint8Array> =>
      (async function* () {
        yield new TextEncoder().encode(`event: snapshot\ndata: {"group":"g"}\n\n`)
        throw new Error('socket hang up')
      })()
    const fetch: Fetch = async () => ({ ok: true, status: 200, body: broken(), json: async () => ({}) })
    const read = async (signal?: AbortSignal): Promise<number> => {
      let count = 0
      for await (const _ of watch({ agent: AGENT, fetch, ...(signal === undefined ? {} : { signal }) }))
        count += 1
      return count
    }
    await expect(read()).rejects.toThrow('socket hang up')
    expect(await read(AbortSignal.abort())).toBe(1)
  })
})
