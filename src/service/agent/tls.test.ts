/** Agents with HTTPS, client certificates and read tokens, as real processes and over real sockets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AgentProcess, conclave, Workplace } from '../../../test/support/agents.ts'
import { type Certificates, makeCertificates } from '../../../test/support/certificates.ts'
import { freePorts } from '../../../test/support/ports.ts'

let place: Workplace
let made: Certificates
let readToken = ''

beforeAll(() => {
  place = new Workplace()
  made = makeCertificates(place.folder)
  readToken = place.write('read-token', 'a read token of some length\n')
})
afterAll(() => place.close())

const start = (...words: readonly string[]): AgentProcess => place.start(place.alone(...words))

describe('an agent with a certificate', () => {
  it('serves HTTPS only, to clients that know the authority and the read token', async () => {
    const tokens = ['--read-token-file', readToken, '--admin-token-file', place.path('admin')]
    const agent = start('--http-cert', made.serverCert, '--http-key', made.serverKey, ...tokens)
    const url = await agent.url()
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    await agent.logged('elected')
    const token = ['--token-file', readToken]
    const ca = ['--ca-file', made.ca]
    const ask = (...words: readonly string[]) => conclave(['leader', '--agent', url, ...words])
    expect(await ask(...ca, ...token)).toMatchObject({ code: 0, out: 'a\n' })
    const [unknown, without, plain] = await Promise.all([
      ask(...token),
      ask(...ca),
      conclave(['leader', '--agent', url.replace('https', 'http')]),
    ])
    expect([unknown?.code, unknown?.said]).toEqual([
      4,
      expect.stringMatching(
        /^conclave: no agent responds at https:.* its certificate is not trusted: .*--ca-file/,
      ),
    ])
    expect([without?.code, without?.said]).toEqual([
      5,
      expect.stringContaining('the read token is missing or wrong'),
    ])
    expect(plain?.code).toBe(4)
    // The admin token reads, too, and the command that needs it needs no other.
    const admin = ['--admin-token-file', place.path('admin')]
    expect(await conclave(['step-down', '--agent', url, ...ca, ...admin])).toMatchObject({ code: 0 })
    expect(await agent.kill('SIGTERM')).toBe(0)
  }, 60_000)

  it('serves only clients with a certificate, if it has an authority for them', async () => {
    const certificate = ['--http-cert', made.serverCert, '--http-key', made.serverKey]
    const agent = start(...certificate, '--http-client-ca', made.ca)
    const url = await agent.url()
    await agent.logged('elected')
    const ask = (...words: readonly string[]) =>
      conclave(['leader', '--agent', url, '--ca-file', made.ca, ...words])
    expect(await ask()).toMatchObject({
      code: 4,
      said: expect.stringContaining('(--client-cert, --client-key)'),
    })
    expect(await ask('--client-cert', made.clientCert, '--client-key', made.clientKey)).toMatchObject({
      out: 'a\n',
    })
    expect(await agent.kill('SIGTERM')).toBe(0)
  }, 60_000)

  it('answers the doctor, who trusts exactly the certificate in the configuration', async () => {
    const [port = 0, udp = 0] = await freePorts(2)
    const node = [
      '--group',
      'g',
      '--id',
      'a',
      '--listen',
      `127.0.0.1:${udp}`,
      '--key-file',
      place.path('key'),
    ]
    const http = ['--http', `127.0.0.1:${port}`, '--read-token-file', readToken]
    const certificate = ['--http-cert', made.serverCert, '--http-key', made.serverKey]
    const words = [...node, ...http, ...certificate, '--option', 'sigmaMs=300']
    const examine = (...more: readonly string[]) =>
      conclave(['doctor', ...words, '--measure-ms', '50', ...more], { NO_COLOR: '1' })
    const agent = place.start(words)
    await agent.logged('elected')
    const { out } = await examine()
    expect(out).toContain(`✓ HTTP 127.0.0.1:${port} is used by the running agent`)
    expect(out).toContain('▲ at risk: a leads g')
    expect(out).not.toContain('✖ ')
    // The agent has another certificate than the configuration says.
    const other = ['--http-cert', made.clientCert, '--http-key', made.clientKey]
    const wrong = await examine(...other)
    expect(wrong.out).toContain(
      `▲ the agent at https://127.0.0.1:${port} does not say its status: its certificate is not the one in the configuration`,
    )
    expect(wrong.out).toContain(`▲ HTTP 127.0.0.1:${port} is in use`)
    expect(wrong.out).not.toContain('stop the process')
    expect(await agent.kill('SIGTERM')).toBe(0)
  }, 60_000)

  it('says in words which file is wrong, and does not start', async () => {
    const wrong = await conclave([
      'agent',
      ...place.alone('--http-cert', made.serverCert, '--http-key', made.clientKey),
    ])
    expect([wrong.code, wrong.said]).toEqual([
      2,
      expect.stringContaining(`${made.clientKey} is not the key of the certificate in ${made.serverCert}`),
    ])
  }, 30_000)
})

it('logs readable lines with --log-format text, and only warnings with --log-level warning', async () => {
  const agent = start('--log-format', 'text', '--log-level', 'warning')
  await agent.said('warning')
  expect(await agent.kill('SIGTERM')).toBe(0)
  expect(agent.text).toMatch(/^\S+Z warning {2}g a: data: is missing in g/)
  expect(agent.text).not.toContain('started')
}, 30_000)
