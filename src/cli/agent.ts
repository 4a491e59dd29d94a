/** `conclave agent`: a node that campaigns for ever, and answers over HTTP. */
import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { CannotListen, startAgent } from '../agent/index.ts'
import { addressOf } from '../member/address.ts'
import { EXIT, UsageError } from './errors.ts'
import { joinOptions, type NodeFlags, withNodeFlags } from './node-flags.ts'
import { narrate } from './output.ts'
import { Supervisor } from './supervised.ts'

type AgentFlags = NodeFlags & { readonly http: string; readonly adminTokenFile?: string }

export function agentCommand(): Command {
  return withNodeFlags(
    new Command('agent').description('run a node beside your processes: it campaigns, and tells who leads'),
  )
    .addOption(
      new Option('--http <host:port>', 'where it answers HTTP')
        .env('CONCLAVE_HTTP')
        .default('127.0.0.1:7480'),
    )
    .addOption(
      new Option('--admin-token-file <file>', 'whoever knows what is in it may give orders').env(
        'CONCLAVE_ADMIN_TOKEN_FILE',
      ),
    )
    .addHelpText(
      'after',
      `
Example:
  conclave agent --group billing --id a --listen 10.0.0.1:7400 --peer b=10.0.0.2:7400 --peer c=10.0.0.3:7400 \\
    --key-file /etc/conclave/key --data /var/lib/conclave/billing
  conclave status

What happens is written to standard error, one JSON object a line. SIGTERM and SIGINT: the lead is handed over, then it
ends with 0. Whoever can reach the HTTP address may ask; see docs/http.md.`,
    )
    .action(async (flags: AgentFlags) => {
      process.exitCode = await agent(flags)
    })
}

async function agent(flags: AgentFlags): Promise<number> {
  const options = joinOptions(flags)
  const http = addressOf(flags.http, '--http')
  const adminToken = flags.adminTokenFile === undefined ? null : adminTokenIn(flags.adminTokenFile)
  const said = (event: string, more: { readonly [field: string]: unknown }): void =>
    narrate(
      JSON.stringify({
        time: new Date().toISOString(),
        group: options.group,
        id: options.id,
        event,
        token: null,
        reason: null,
        ...more,
      }),
    )
  const told = new Promise<string>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal))
  })
  const supervisor = Supervisor.ofThisProcess()
  const running = await startAgent({
    join: options,
    http,
    adminToken,
    log: ({ event, leader, token, reason }) => said(event, { leader, token, reason }),
  }).catch((error: unknown) => {
    if (error instanceof CannotListen) throw new UsageError(`--http: ${error.message}`, '--http')
    throw error
  })
  supervisor?.spoils(running)
  said('started', { http: running.url })
  const why = await Promise.race([told, running.failed])
  said('ending', { reason: typeof why === 'string' ? why : why.message })
  await running.close()
  return typeof why === 'string' ? EXIT.ok : EXIT.failure
}

/** Without the end of the line, which editors add. */
export function adminTokenIn(file: string): string {
  let token: string
  try {
    token = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`--admin-token-file ${file}: ${(error as Error).message}`, '--admin-token-file')
  }
  if (token.length < 16)
    throw new UsageError(
      `--admin-token-file ${file}: has ${token.length} characters, at least 16 are needed`,
      '--admin-token-file',
    )
  return token
}
