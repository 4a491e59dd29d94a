/** The flags and request options of the commands that send a request to an agent. */
import { X509Certificate } from 'node:crypto'
import { Command, Option } from 'commander'
import type { Fetch } from '../../service/client/index.ts'
import { readSecret, readTokenFile } from '../../service/config/keys.ts'
import { UsageError } from '../errors.ts'
import { type ClientTls, createFetch } from '../fetch.ts'

/** How to reach an agent that uses TLS or a read token. */
export type ConnectionFlags = {
  readonly caFile?: string
  readonly clientCert?: string
  readonly clientKey?: string
  readonly tokenFile?: string
}
export type RequestFlags = ConnectionFlags & {
  readonly agent: string
  readonly group?: string
  readonly json?: boolean
}
export type AdminFlags = RequestFlags & { readonly adminTokenFile?: string }

/** An agent answers from memory, so a slow answer means that something is wrong. */
const TIMEOUT_MS = 5000

/** Creates a command with the flags that all requests share. */
export function requestCommand(name: string, description: string): Command {
  return addConnectionFlags(
    new Command(name)
      .description(description)
      .addOption(
        new Option('--agent <url>', 'URL of the agent')
          .env('CONCLAVE_AGENT')
          .default('http://127.0.0.1:7480'),
      )
      .option('--group <name>', 'name of the group, if the agent is in several')
      .option('--json', "print the agent's response as JSON"),
  )
}

export function addConnectionFlags(command: Command): Command {
  const add = (flags: string, meaning: string, variable: string): void =>
    void command.addOption(new Option(flags, meaning).env(variable))
  add('--token-file <file>', "file with the agent's read token, if it demands one", 'CONCLAVE_TOKEN_FILE')
  add(
    '--ca-file <file>',
    'with https: authority that signed the certificate of the agent, PEM',
    'CONCLAVE_CA_FILE',
  )
  add('--client-cert <file>', 'with https: certificate of this client, PEM', 'CONCLAVE_CLIENT_CERT')
  add('--client-key <file>', 'with https: private key of that certificate, PEM', 'CONCLAVE_CLIENT_KEY')
  return command
}

/** Creates the command of a request that needs the agent's admin token. */
export function adminCommand(name: string, description: string): Command {
  return requestCommand(name, description).addOption(
    new Option('--admin-token-file <file>', "file with the agent's admin token").env(
      'CONCLAVE_ADMIN_TOKEN_FILE',
    ),
  )
}

export function readRequestOptions(flags: RequestFlags, timeoutMs = TIMEOUT_MS) {
  const { agent, group = null } = flags
  const signal = AbortSignal.timeout(timeoutMs)
  return { agent: parseAgentUrl(agent), group, signal, ...readConnection(flags) }
}

/** The `fetch` and the token for an agent. */
export function readConnection(
  { caFile, clientCert, clientKey, tokenFile }: ConnectionFlags,
  options: { readonly keepAlive?: boolean } = {},
): { readonly fetch: Fetch; readonly token: string | null } {
  const { token, problem } = readTokenFile(tokenFile)
  if (problem !== null) throw new UsageError(`--token-file: ${problem}`, '--token-file')
  if ((clientCert === undefined) !== (clientKey === undefined))
    throw new UsageError('--client-cert and --client-key: give both or neither', '--client-cert')
  const read = (flag: string, name: string, file: string | undefined): ClientTls => {
    if (file === undefined) return {}
    const { bytes, problem: why } = readSecret(file)
    if (why !== null) throw new UsageError(`${flag}: ${why}`, flag)
    if (name !== 'key' && !isCertificate(bytes))
      throw new UsageError(`${flag}: ${file} contains no certificate in PEM format`, flag)
    return { [name]: bytes }
  }
  const tls = {
    ...read('--ca-file', 'ca', caFile),
    ...read('--client-cert', 'cert', clientCert),
    ...read('--client-key', 'key', clientKey),
  }
  return { fetch: createFetch(tls, options), token }
}

function isCertificate(bytes: Buffer): boolean {
  try {
    return bytes.includes('-----BEGIN') && new X509Certificate(bytes).raw.length > 0
  } catch {
    return false
  }
}

export function readAdminOptions(flags: AdminFlags, timeoutMs = TIMEOUT_MS) {
  return { ...readRequestOptions(flags, timeoutMs), adminToken: readAdminTokenFlag(flags.adminTokenFile) }
}

export function parseAgentUrl(agent: string): string {
  if (!URL.canParse(agent) || !/^https?:/.test(agent))
    throw new UsageError(`--agent ${agent}: write a URL, such as http://127.0.0.1:7480`, '--agent')
  return agent
}

export function readAdminTokenFlag(file: string | undefined): string | null {
  const { token, problem } = readTokenFile(file)
  if (problem !== null) throw new UsageError(`--admin-token-file: ${problem}`, '--admin-token-file')
  return token
}
