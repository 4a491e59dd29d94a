/** Certificates for tests, made by openssl. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export type Certificates = {
  /** The authority, in PEM format. */
  readonly ca: string
  readonly serverCert: string
  readonly serverKey: string
  readonly clientCert: string
  readonly clientKey: string
}

/** Writes an authority, and certificates of a server at 127.0.0.1 and of a client that it signed. */
export function makeCertificates(folder: string): Certificates {
  const at = (name: string): string => join(folder, name)
  const openssl = (...words: readonly string[]): void => {
    const { status, stderr } = spawnSync('openssl', words, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`openssl ${words.join(' ')}: ${stderr}`)
  }
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  openssl(
    'req',
    '-x509',
    ...curve,
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
    '-subj',
    '/CN=test authority',
  )
  for (const name of ['server', 'client']) {
    const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-subj', `/CN=${name}`]
    const limits = ['-addext', 'subjectAltName=IP:127.0.0.1', '-addext', 'basicConstraints=critical,CA:FALSE']
    const out = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)]
    openssl('req', '-x509', ...curve, ...signed, ...limits, ...out)
  }
  return {
    ca: at('ca.pem'),
    serverCert: at('server.pem'),
    serverKey: at('server.key'),
    clientCert: at('client.pem'),
    clientKey: at('client.key'),
  }
}
