/** The agents of `conclave up`: each described by the flags of a node, and checked as an agent checks them. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Warden } from '../../service/chaos/reaper.ts'
import { formatArguments, type NodeFlags, readConfig, type ServiceFlags } from '../node-flags.ts'
import type { UpFlags } from '../up.ts'
import { LocalAgent } from './local-agent.ts'
import { toldBy } from './text.ts'

export type Plan = {
  readonly flags: Pick<UpFlags, 'protocol' | 'mode' | 'profile' | 'option'>
  readonly count: number
  /** Ports, one for each. */
  readonly udp: readonly number[]
  readonly http: readonly number[]
}

export type Described = {
  readonly id: string
  readonly url: string
  readonly adminToken: string
  readonly flags: NodeFlags & ServiceFlags
}

/** Writes what they share into the folder; throws what an agent would say against its flags. */
export function describedIn(folder: string, { flags, count, udp, http }: Plan): readonly Described[] {
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, randomBytes(32), { mode: 0o600 })
  const adminToken = randomBytes(16).toString('hex')
  const adminTokenFile = join(folder, 'admin-token')
  writeFileSync(adminTokenFile, adminToken, { mode: 0o600 })
  const ids = Array.from({ length: count }, (_, index) => `n${index + 1}`)
  const isStore = flags.protocol === 'epochs'
  const described = ids.map((id, index): Described => {
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
        option: [...patience(flags), ...flags.option],
      },
    }
  })
  for (const each of described) readConfig(each.flags, {})
  return described
}

export function agentsOf(
  described: readonly Described[],
  warden: Warden,
  say: (text: string) => void,
): readonly LocalAgent[] {
  return described.map(
    ({ id, url, adminToken, flags }) =>
      new LocalAgent({
        id,
        url,
        adminToken,
        words: formatArguments(flags),
        onStart: (child) => warden.watch(child),
        onSaid: (line) => {
          const text = toldBy(id, line)
          if (text !== null) say(text)
        },
      }),
  )
}

/**
 * All of them and the terminal share the processors of one machine: each may have to wait longer for its turn than a
 * process with a machine of its own.
 */
function patience({ protocol, profile, option }: Plan['flags']): readonly string[] {
  if (protocol !== 'local-leader') return []
  const isSet = option.some((each) => each.startsWith('sigmaMs='))
  return profile === 'lan' && !isSet ? ['sigmaMs=60'] : []
}
