/** `status`, `leader`, `members`, `watch`, `step-down`, `remove`: questions to an agent, and two orders. */
import { Command, Option } from 'commander'
import {
  type AgentEvent,
  AgentUnreachableError,
  getLeader,
  getMembers,
  getStatus,
  type NodeResponse,
  removeNode,
  stepDown,
  watch,
} from '../service/client/index.ts'
import { readAdminToken } from '../service/config/keys.ts'
import { EXIT, UsageError } from './errors.ts'
import { fetchOverHttp } from './fetch.ts'
import { formatTable, paint, print, printJson, printNote } from './output.ts'
import { viewText } from './up/text.ts'

type AskFlags = { readonly agent: string; readonly group?: string; readonly json?: boolean }

/** An agent answers from memory: one that takes longer is not well. */
const LONGEST_ANSWER_MS = 5000
const LONGEST_STEP_DOWN_MS = 15_000

function ask(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(
      new Option('--agent <url>', 'the agent to ask').env('CONCLAVE_AGENT').default('http://127.0.0.1:7480'),
    )
    .option('--group <name>', 'which group, where the agent is in several')
    .option('--json', 'print the answer as JSON')
}

function asking({ agent, group }: AskFlags, withinMs = LONGEST_ANSWER_MS) {
  const signal = AbortSignal.timeout(withinMs)
  return { agent: urlIn(agent), group: group ?? null, signal, fetch: fetchOverHttp }
}

function urlIn(agent: string): string {
  if (!URL.canParse(agent) || !/^https?:/.test(agent))
    throw new UsageError(`--agent ${agent}: write a URL, such as http://127.0.0.1:7480`, '--agent')
  return agent
}

export function statusCommand(): Command {
  return ask('status', 'how the group is, in one sentence and a table; exit code 3 without a leader').action(
    async (flags: AskFlags) => {
      const status = await getStatus(asking(flags))
      process.exitCode = status.leader === null ? EXIT.noLeader : EXIT.ok
      if (flags.json === true) {
        printJson(status)
        return
      }
      const colour = { healthy: 'green', degraded: 'yellow', 'at-risk': 'yellow' } as const
      print(paint(status.level in colour ? colour[status.level as 'healthy'] : 'red', status.banner))
      print('')
      print(membersTable(status.nodes))
      print('')
      print(`as ${status.self.id} (${status.self.role}) saw it at ${status.at}`)
    },
  )
}

export function leaderCommand(): Command {
  return ask('leader', 'who leads; exit code 3 when nobody does').action(async (flags: AskFlags) => {
    const answer = await getLeader(asking(flags))
    process.exitCode = answer.leader === null ? EXIT.noLeader : EXIT.ok
    if (flags.json === true) printJson(answer)
    else if (answer.leader !== null) print(String(answer.leader.id))
    else printNote(`nobody leads ${answer.group}, as far as ${answer.self.id} knows`)
  })
}

export function membersCommand(): Command {
  return ask('members', 'who belongs to the group, and who is there').action(async (flags: AskFlags) => {
    const answer = await getMembers(asking(flags))
    if (flags.json === true) printJson(answer)
    else print(membersTable(answer.nodes))
  })
}

export function watchCommand(): Command {
  return ask('watch', 'what happens, line by line, until interrupted; with --json one object a line')
    .option('--after <id>', 'begin after the event with this id, as far as the agent still knows')
    .action(async (flags: AskFlags & { readonly after?: string }) => {
      const agent = urlIn(flags.agent)
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      const about = { agent, group: flags.group ?? null, after: flags.after ?? null, fetch: fetchOverHttp }
      for await (const seen of watch({ ...about, signal: stop.signal })) {
        if (flags.json === true) printJson(seen)
        else if (seen.type === 'now') {
          const { leader, group } = seen.now
          print(leader === null ? `nobody leads ${group}` : `${leader.id} leads ${group}${withToken(leader)}`)
        } else if (seen.type === 'missed') print('some events were missed')
        else print(`${seen.event.at}  ${eventText(seen.event)}`)
      }
      if (!stop.signal.aborted) throw new AgentUnreachableError(`the agent at ${agent} ended`)
    })
}

const adminTokenFlag = (): Option =>
  new Option('--admin-token-file <file>', "the agent's admin token").env('CONCLAVE_ADMIN_TOKEN_FILE')

function adminTokenIn({ adminTokenFile }: { readonly adminTokenFile?: string }): string | null {
  const { token, problem } = readAdminToken(adminTokenFile)
  if (problem !== null) throw new UsageError(`--admin-token-file: ${problem}`, '--admin-token-file')
  return token
}

export function removeCommand(): Command {
  return ask('remove', 'take a node out of the group, once its process is gone for good; its id is spent')
    .argument('<id>', 'the node')
    .addOption(adminTokenFlag())
    .action(async (id: string, flags: AskFlags & { readonly adminTokenFile?: string }) => {
      const answer = await removeNode({ ...asking(flags), id, adminToken: adminTokenIn(flags) })
      if (flags.json === true) printJson(answer)
      else print(`${answer.removing} is being removed from ${answer.group}`)
    })
}

export function stepDownCommand(): Command {
  return ask('step-down', 'ask the agent that leads to hand over; exit code 3 when it does not lead')
    .addOption(adminTokenFlag())
    .action(async (flags: AskFlags & { readonly adminTokenFile?: string }) => {
      const adminToken = adminTokenIn(flags)
      const answer = await stepDown({ ...asking(flags, LONGEST_STEP_DOWN_MS), adminToken })
      if (flags.json === true) printJson(answer)
      else print(`${answer.steppedDown.id} stepped down${withToken(answer.steppedDown)}`)
    })
}

function withToken({ token }: { readonly token: number | null }): string {
  return token === null ? '' : ` with token ${token}`
}

function eventText({ event, self, leader, token, reason, view }: AgentEvent): string {
  switch (event) {
    case 'elected':
      return `${self} is elected${withToken({ token })} (${reason})`
    case 'revoked':
      return `${self} leads no longer${withToken({ token })} (${reason})`
    case 'change':
      if (leader === null) return `${self} knows of no leader`
      return `${self} ${leader === self ? 'leads' : `follows ${leader}`}${withToken({ token })}`
    case 'view':
      return `${self} is in view ${view?.id.join('.')}: ${viewText(view)}`
    default:
      return `${event} at ${self}: ${reason}`
  }
}

function membersTable(members: readonly NodeResponse[]): string {
  const rows = members.map(({ id, voter, leader, reachable: there, evidenceMsAgo, heardMsAgo }) => [
    String(id),
    leader ? 'leader' : voter ? 'voter' : 'observer',
    there ? `there${evidenceMsAgo === null ? '' : `, ${evidenceMsAgo.toFixed(0)} ms old`}` : 'missing',
    heardMsAgo === null ? 'never' : `${heardMsAgo.toFixed(0)} ms ago`,
  ])
  return formatTable([['id', 'is', 'seen', 'last heard'], ...rows])
}
