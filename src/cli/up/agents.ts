/** The agents of `conclave up`. Each is described by the flags of a node, and validated as `conclave agent` does. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Asked, hostingOf } from '../../protocols/index.ts'
import type { Reaper } from '../../service/chaos/reaper.ts'
import { formatArguments, type NodeFlags, readConfig, type ServiceFlags } from '../node-flags.ts'
import type { UpFlags } from '../up.ts'
import { parseOptions } from '../values.ts'
import { LocalAgent } from './local-agent.ts'

export type GroupPlan = {
  readonly flags: Omit<UpFlags, 'nodes' | 'httpPort' | 'seconds' | 'plain' | 'json'>
  readonly count: number
  /** One UDP and one TCP port per agent. */
  readonly udp: readonly number[]
  readonly http: readonly number[]
}

export type AgentDescription = {
  readonly id: string
  readonly url: string
  readonly adminToken: string
  readonly flags: NodeFlags & ServiceFlags
}

/** Writes the shared files into the folder. Throws the error with which an agent would refuse its flags. */
export function describeAgents(
  folder: string,
  { flags, count, udp, http }: GroupPlan,
): readonly AgentDescription[] {
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, randomBytes(32), { mode: 0o600 })
  const adminToken = randomBytes(16).toString('hex')
  const adminTokenFile = join(folder, 'admin-token')
  writeFileSync(adminTokenFile, adminToken, { mode: 0o600 })
  const ids = Array.from({ length: count }, (_, index) => `n${index + 1}`)
  const isStore = hostingOf(flags.protocol)?.needs === 'store'
  const descriptions = ids.map((id, index): AgentDescription => {
    const at = `127.0.0.1:${http[index]}`
    const place = isStore
      ? { peer: [], keyFile: [], store: join(folder, 'registers') }
      : {
          listen: `127.0.0.1:${udp[index]}`,
          peer: ids.flatMap((peer, other) => (peer === id ? [] : [`${peer}=127.0.0.1:${udp[other]}`])),
          keyFile: [keyFile],
          data: join(folder, id),
          mode: flags.mode,
        }
    return {
      id,
      url: `http://${at}`,
      adminToken,
      flags: {
        group: 'up',
        id,
        http: at,
        adminTokenFile,
        protocol: flags.protocol,
        profile: flags.profile,
        ...leaseFlags(flags),
        ...place,
        option: [...slackOptions(flags, ids), ...flags.option],
      },
    }
  })
  for (const each of descriptions) readConfig(each.flags, {})
  return descriptions
}

export function createAgents(
  descriptions: readonly AgentDescription[],
  reaper: Reaper,
  takeLogLine: (id: string, line: string) => void,
): readonly LocalAgent[] {
  return descriptions.map(
    ({ id, url, adminToken, flags }) =>
      new LocalAgent({
        id,
        url,
        adminToken,
        words: formatArguments(flags),
        onStart: (child) => reaper.watch(child),
        onLogLine: (line) => takeLogLine(id, line),
      }),
  )
}

/** The flags of leases that tune themselves, as given. */
function leaseFlags({
  timing,
  leaseMinMs,
  leaseMaxMs,
  leaseLossPerDay,
}: GroupPlan['flags']): Partial<NodeFlags> {
  return {
    ...(timing === undefined ? {} : { timing }),
    ...(leaseMinMs === undefined ? {} : { leaseMinMs }),
    ...(leaseMaxMs === undefined ? {} : { leaseMaxMs }),
    ...(leaseLossPerDay === undefined ? {} : { leaseLossPerDay }),
  }
}

/**
 * Options that tolerate longer scheduling delays than the defaults: the agents and the terminal share the processors of
 * one machine. Leases that tune themselves need none.
 */
function slackOptions(flags: GroupPlan['flags'], ids: readonly string[]): readonly string[] {
  const { protocol, profile, option } = flags
  if (isAdaptive(flags, ids)) return []
  const slack = Object.entries(hostingOf(protocol)?.slackOptions(profile) ?? {})
  return slack
    .filter(([name]) => !option.some((each) => each.startsWith(`${name}=`)))
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
}

/** Whether these flags give leases that tune themselves. Flags that cannot work are reported later. */
function isAdaptive(flags: GroupPlan['flags'], ids: readonly string[]): boolean {
  const { protocol, profile, mode, timing, option } = flags
  const hosting = hostingOf(protocol)
  if (hosting?.hasAdaptiveTiming !== true) return false
  const asked = {
    id: ids[0] ?? '',
    profile,
    mode,
    ...(timing === undefined ? {} : { timing }),
    options: parseOptions(option),
  } as Asked
  const chosen = hosting.optionsFor(asked, ids)
  return 'options' in chosen && chosen.options['timing'] === 'adaptive'
}
