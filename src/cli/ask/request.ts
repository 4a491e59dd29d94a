/** The flags and request options of the commands that send a request to an agent. */
import { Command, Option } from 'commander'
import { readAdminToken } from '../../service/config/keys.ts'
import { UsageError } from '../errors.ts'
import { fetchOverHttp } from '../fetch.ts'

export type RequestFlags = { readonly agent: string; readonly group?: string; readonly json?: boolean }
export type AdminFlags = RequestFlags & { readonly adminTokenFile?: string }

/** An agent answers from memory, so a slow answer means that something is wrong. */
const TIMEOUT_MS = 5000

/** Creates a command with the flags that all requests share. */
export function requestCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(
      new Option('--agent <url>', 'URL of the agent').env('CONCLAVE_AGENT').default('http://127.0.0.1:7480'),
    )
    .option('--group <name>', 'name of the group, if the agent is in several')
    .option('--json', "print the agent's response as JSON")
}

/** Creates the command of a request that needs the agent's admin token. */
export function adminCommand(name: string, description: string): Command {
  return requestCommand(name, description).addOption(
    new Option('--admin-token-file <file>', "file with the agent's admin token").env(
      'CONCLAVE_ADMIN_TOKEN_FILE',
    ),
  )
}

export function readRequestOptions({ agent, group }: RequestFlags, timeoutMs = TIMEOUT_MS) {
  const signal = AbortSignal.timeout(timeoutMs)
  return { agent: parseAgentUrl(agent), group: group ?? null, signal, fetch: fetchOverHttp }
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
  const { token, problem } = readAdminToken(file)
  if (problem !== null) throw new UsageError(`--admin-token-file: ${problem}`, '--admin-token-file')
  return token
}
