/** Reads what protects the HTTP interface: the certificate and its key, the authority of clients, and the read token. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readSecret, readTokenFile, type SecretFile } from './keys.ts'
import type { FieldProblem } from './problems.ts'
import type { ProcessConfig } from './schema.ts'

/** In PEM format. */
export type HttpTls = {
  readonly cert: Buffer
  readonly key: Buffer
  /** If given, clients must present a certificate that this authority signed. */
  readonly clientCa: Buffer | null
}

export type HttpSecurity = {
  readonly tls: HttpTls | null
  readonly readToken: string | null
  readonly problems: readonly FieldProblem[]
  readonly secrets: readonly SecretFile[]
}

type Fields = Pick<ProcessConfig, 'httpCert' | 'httpKey' | 'httpClientCa' | 'readTokenFile'>

export function readHttpSecurity({
  httpCert,
  httpKey,
  httpClientCa,
  readTokenFile: tokenFile,
}: Fields): HttpSecurity {
  const problems: FieldProblem[] = []
  const token = readTokenFile(tokenFile)
  if (token.problem !== null) problems.push({ field: 'readTokenFile', message: token.problem })
  const secrets: SecretFile[] = [{ ...token, field: 'readTokenFile' }]
  if (httpCert === undefined || httpKey === undefined) {
    if (httpCert !== undefined) problems.push({ field: 'httpKey', message: 'is missing: httpCert needs it' })
    if (httpKey !== undefined) problems.push({ field: 'httpCert', message: 'is missing: httpKey needs it' })
    if (httpClientCa !== undefined && httpCert === undefined && httpKey === undefined)
      problems.push({
        field: 'httpClientCa',
        message: 'needs httpCert and httpKey: clients present certificates over TLS only',
      })
    return { tls: null, readToken: token.token, problems, secrets }
  }
  const read = (field: keyof Fields, file: string, check: (bytes: Buffer) => void): Buffer => {
    const { bytes, openTo, problem } = readSecret(file)
    if (field === 'httpKey') secrets.push({ file, openTo, problem, field })
    if (problem !== null) problems.push({ field, message: problem })
    else {
      try {
        check(bytes)
      } catch (error) {
        problems.push({ field, message: `${file} is not in PEM format: ${(error as Error).message}` })
      }
    }
    return bytes
  }
  const cert = read('httpCert', httpCert, (bytes) => void new X509Certificate(bytes))
  const key = read('httpKey', httpKey, (bytes) => void createPrivateKey(bytes))
  const clientCa =
    httpClientCa === undefined
      ? null
      : read('httpClientCa', httpClientCa, (bytes) => void new X509Certificate(bytes))
  if (problems.length === 0 && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    problems.push({
      field: 'httpKey',
      message: `${httpKey} is not the key of the certificate in ${httpCert}`,
    })
  return {
    tls: problems.length === 0 ? { cert, key, clientCa } : null,
    readToken: token.token,
    problems,
    secrets,
  }
}
