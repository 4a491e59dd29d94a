/** The agents of `conclave up`. Each is described by the flags of a node, and validated as `conclave agent` does. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostingOf } from '../../protocols/index.ts'
import type { Reaper } from '../../service/chaos/reaper.ts'
import { formatArguments, type NodeFlags, readConfig, type ServiceFlags } from '../node-flags.ts'
import type { UpFlags } from '../up.ts'
import { LocalAgent } from './local-agent.ts'

export type GroupPlan = {
  readonly flags: Pick<UpFlags, 'protocol' | 'mode' | 'profile' | 'option'>
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
        ...place,
        option: [...slackOptions(flags), ...flags.option],
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

/**
 * Options that tolerate longer scheduling delays than the defaults: the agents and the terminal share the processors of
 * one machine.
 */
function slackOptions({ protocol, profile, option }: GroupPlan['flags']): readonly string[] {
  const slack = Object.entries(hostingOf(protocol)?.slackOptions(profile) ?? {})
  return slack
    .filter(([name]) => !option.some((each) => each.startsWith(`${name}=`)))
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
}
