import { describe, expect, it } from 'vitest'
import { AgentUnreachableError, RequestRefusedError } from './errors.ts'
import { type Fetch, type FetchResponse, getJson, parseJson, sendRequest, toClientError } from './request.ts'

const agent = 'http://127.0.0.1:7480'

function respond(status: number, json: () => Promise<unknown>): FetchResponse {
  return { ok: status < 400, status, body: null, json }
}

describe('sendRequest', () => {
  it('keeps the path of an agent behind a proxy, and adds the group', async () => {
    const seen: Parameters<Fetch>[] = []
    const fetch: Fetch = async (...words) => {
      seen.push(words)
      return respond(200, async () => 1)
    }
    await sendRequest({ agent, group: 'a b', fetch }, '/v1/leader?x=1', { method: 'POST' })
    const paths = ['', '/', '/ops/a%20b', '/ops/?group=c#d']
    await Promise.all(
      paths.map((path) => sendRequest({ agent: `${agent}${path}`, group: null, fetch }, '/v1/leader', {})),
    )
    expect(seen.map(([url]) => url.href)).toEqual([
      `${agent}/v1/leader?x=1&group=a+b`,
      `${agent}/v1/leader`,
      `${agent}/v1/leader`,
      `${agent}/ops/a%20b/v1/leader`,
      `${agent}/ops/v1/leader`,
    ])
    expect(seen.slice(0, 2).map(([, init]) => init)).toEqual([
      { method: 'POST', redirect: 'error' },
      { redirect: 'error' },
    ])
  })

  it('passes the signal on', async () => {
    const { signal } = new AbortController()
    let passed: AbortSignal | undefined
    const fetch: Fetch = async (_url, init) => {
      passed = init.signal
      return respond(200, async () => 1)
    }
    await sendRequest({ agent, signal, fetch }, '/', {})
    expect(passed).toBe(signal)
  })

  it.each([
    [{ error: { code: 'NotLeader', message: 'n1 leads', field: 'id' } }, 'NotLeader', 'n1 leads', 'id'],
    [{ error: { code: 'NotLeader' } }, 'NotLeader', 'HTTP status 409', null],
    [{}, 'Unknown', 'HTTP status 409', null],
    [null, 'Unknown', 'HTTP status 409', null],
  ])('turns the refusal %j into an error', async (body, kind, text, field) => {
    const fetch: Fetch = async () => respond(409, async () => body)
    const error = await sendRequest({ agent, fetch }, '/', {}).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(RequestRefusedError)
    expect(error).toMatchObject({
      status: 409,
      kind,
      field,
      message: `the agent at ${agent} refused the request: ${text}`,
    })
  })

  it('reports the status of a refusal whose body cannot be read', async () => {
    const fetch: Fetch = async () => respond(502, () => Promise.reject(new SyntaxError('<html>')))
    await expect(sendRequest({ agent, fetch }, '/', {})).rejects.toMatchObject({
      status: 502,
      kind: 'Unknown',
    })
  })

  it('reports an address that is none', async () => {
    await expect(sendRequest({ agent: 'n1' }, '/', {})).rejects.toThrow(AgentUnreachableError)
  })
})

describe('a response', () => {
  it('is read as JSON', async () => {
    const fetch: Fetch = async () => respond(200, async () => ({ leader: 'n1' }))
    expect(await getJson({ agent, fetch }, '/v1/leader')).toEqual({ leader: 'n1' })
  })

  it('that is not JSON does not come from an agent', async () => {
    const cause = new SyntaxError('Unexpected token <')
    const broken = parseJson(
      { agent },
      respond(200, () => Promise.reject(cause)),
    )
    await expect(broken).rejects.toMatchObject({
      name: 'AgentUnreachableError',
      message: `the server at ${agent} is not a Conclave agent: its response is not JSON; check the address`,
      cause,
    })
  })

  it('that breaks off is a connection that failed', async () => {
    const broken = parseJson(
      { agent },
      respond(200, () => Promise.reject(new TypeError('terminated'))),
    )
    await expect(broken).rejects.toThrow(`no agent responds at ${agent}: terminated; check`)
  })
})

describe('a failure of fetch', () => {
  it('shows the cause rather than "fetch failed", and keeps the error', () => {
    const error = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
    const shown = toClientError({ agent }, error) as AgentUnreachableError
    expect(shown.message).toBe(
      `no agent responds at ${agent}: connect ECONNREFUSED; check that the agent is running and that the address is right`,
    )
    expect([shown.code, shown.cause]).toEqual(['ERR_CONCLAVE_AGENT_UNREACHABLE', error])
  })

  it.each([
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is not trusted: give the authority that signed it'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is not trusted: give the authority that signed it'],
    ['CERT_HAS_EXPIRED', 'renew its certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'use a name that its certificate contains'],
  ])('of TLS with the code %s says what to do', (code, remedy) => {
    const error = Object.assign(new Error('why'), { code })
    for (const seen of [error, new TypeError('fetch failed', { cause: error })])
      expect((toClientError({ agent }, seen) as Error).message).toContain(`: why; ${remedy}`)
  })

  it.each(['socket hang up', 'other side closed', 'read ECONNRESET'])(
    'that is the end of a connection (%s) names TLS, which an agent may demand',
    (why) => {
      const error = new TypeError('fetch failed', { cause: new Error(why) })
      const remedy = 'if it serves HTTPS, write https:// instead of http://'
      expect((toClientError({ agent }, error) as Error).message).toContain(`${why}; ${remedy}`)
      const https = toClientError({ agent: agent.replace('http:', 'https:') }, error) as Error
      expect(https.message).toContain(`${why}; check that the agent is running`)
    },
  )

  it.each([
    ['wrong version number', 'it does not use TLS: write http:// instead of https://'],
    ['tlsv13 alert certificate required', 'give this client a certificate that the agent accepts'],
  ])('of OpenSSL, %s, shows the reason without its place in the source', (reason, remedy) => {
    const text = `write EPROTO 808CE2:error:0A00010B:SSL routines:f:${reason}:../x.c:350:\n`
    const shown = toClientError({ agent }, Object.assign(new Error(text), { code: 'EPROTO', reason }))
    expect((shown as Error).message).toContain(`no agent responds at ${agent}: ${reason}; ${remedy}`)
  })

  it('is the reason of the caller who aborted, unless that is a timeout', () => {
    const reason = new Error('no longer needed')
    expect(toClientError({ agent, signal: AbortSignal.abort(reason) }, new Error('aborted'))).toBe(reason)
    const late = AbortSignal.abort(new DOMException('too late', 'TimeoutError'))
    expect(toClientError({ agent, signal: late }, new Error('too late'))).toBeInstanceOf(
      AgentUnreachableError,
    )
  })

  it('is a connection that failed while the signal is not aborted', () => {
    const { signal } = new AbortController()
    expect(toClientError({ agent, signal }, new Error('reset'))).toBeInstanceOf(AgentUnreachableError)
  })
})
