import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeCertificates } from '../../../test/support/certificates.ts'
import { readHttpSecurity } from './http-security.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-tls-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const { ca, serverCert, serverKey, clientKey } = makeCertificates(folder)
const text = (name: string, content: string): string => {
  const file = join(folder, name)
  writeFileSync(file, content, { mode: 0o600 })
  return file
}
const problemsOf = (fields: Parameters<typeof readHttpSecurity>[0]): readonly string[] =>
  readHttpSecurity(fields).problems.map(({ field, message }) => `${field}: ${message}`)

describe('the protection of the HTTP interface', () => {
  it('is none by default', () => {
    expect(readHttpSecurity({})).toMatchObject({ tls: null, readToken: null, problems: [] })
  })

  it('reads the certificate, its key, the authority of clients and the read token', () => {
    const readTokenFile = text('token', 'a read token of some length\n')
    const read = readHttpSecurity({
      httpCert: serverCert,
      httpKey: serverKey,
      httpClientCa: ca,
      readTokenFile,
    })
    expect(read).toMatchObject({ problems: [], readToken: 'a read token of some length' })
    expect(read.tls?.cert.toString()).toContain('BEGIN CERTIFICATE')
    expect(read.tls?.clientCa?.toString()).toContain('BEGIN CERTIFICATE')
  })

  it.each<[string, Parameters<typeof readHttpSecurity>[0], readonly string[]]>([
    ['a certificate without a key', { httpCert: serverCert }, ['httpKey: is missing: httpCert needs it']],
    ['a key without a certificate', { httpKey: serverKey }, ['httpCert: is missing: httpKey needs it']],
    [
      'an authority without a certificate',
      { httpClientCa: ca },
      ['httpClientCa: needs httpCert and httpKey: clients present certificates over TLS only'],
    ],
    [
      'a missing file',
      { httpCert: join(folder, 'none'), httpKey: serverKey },
      [`httpCert: there is no file ${join(folder, 'none')}`],
    ],
    [
      'the key of another certificate',
      { httpCert: serverCert, httpKey: clientKey },
      [`httpKey: ${clientKey} is not the key of the certificate in ${serverCert}`],
    ],
  ])('refuses %s', (_what, fields, expected) => {
    expect(problemsOf(fields)).toEqual(expected)
  })

  it('refuses files that are not in PEM format', () => {
    const junk = text('junk', 'not a certificate')
    const [cert, key] = problemsOf({ httpCert: junk, httpKey: junk })
    expect(cert).toContain(`httpCert: ${junk} is not in PEM format: `)
    expect(key).toContain(`httpKey: ${junk} is not in PEM format: `)
  })

  it('refuses a short read token, and notes who can read the secrets', () => {
    const readTokenFile = text('short', 'abc')
    expect(problemsOf({ readTokenFile })[0]).toContain('has 3 characters, at least 16 are needed')
    chmodSync(serverKey, 0o644)
    const { secrets } = readHttpSecurity({ httpCert: serverCert, httpKey: serverKey })
    expect(secrets.map(({ field, openTo }) => [field, openTo])).toEqual([
      ['readTokenFile', 'owner'],
      ['httpKey', 'everyone'],
    ])
  })
})
