/** Settings that work, but perhaps not as intended. */
import type { SecretFile } from './keys.ts'
import { type NodeConfig, othersIn, type ProcessConfig } from './schema.ts'

export type Warning = { readonly field: string; readonly message: string }

export function warningsAbout(
  nodes: readonly NodeConfig[],
  process: ProcessConfig,
  secrets: readonly SecretFile[],
): readonly Warning[] {
  return [...secrets.flatMap(aboutSecret), ...aboutHttp(process), ...nodes.flatMap(aboutNode)]
}

function aboutSecret({ file, openTo, ...rest }: SecretFile): readonly Warning[] {
  if (file === null || openTo === 'owner') return []
  const message = `${file} can be read by ${openTo === 'group' ? 'its group' : 'everyone'}; anyone who knows it can act as a node or administrator: chmod 600 ${file}`
  return [{ field: rest.field ?? ('key' in rest ? 'keyFile' : 'adminTokenFile'), message }]
}

function aboutHttp({ http, httpCert, httpClientCa, readTokenFile }: ProcessConfig): readonly Warning[] {
  const host = http.slice(0, http.lastIndexOf(':'))
  if (/^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(host)) return []
  if (httpCert !== undefined) {
    if (httpClientCa !== undefined || readTokenFile !== undefined) return []
    const readers = `${http} is not loopback; anyone who can reach it can read the state: set readTokenFile or httpClientCa`
    return [{ field: 'http', message: readers }]
  }
  const message = `${http} is not loopback; anyone who can reach it can send requests, and there is no TLS (admin tokens are sent in clear)`
  return [{ field: 'http', message }]
}

function aboutNode(node: NodeConfig): readonly Warning[] {
  const warnings: Warning[] = []
  const { group, data, mode, options } = node
  const peers = othersIn(node)
  const observers = [
    ...peers.flatMap(({ id, observer }) => (observer ? [id] : [])),
    ...(node.observer ? [node.id] : []),
    ...(Array.isArray(options['observers']) ? options['observers'] : []),
  ]
  const voters = [node.id, ...peers.map(({ id }) => id)].filter((id) => !observers.includes(id)).length
  if (data === undefined && !node.observer)
    warnings.push({
      field: 'data',
      message: `is missing in ${group}: the promises of this node do not survive a restart, so its tokens then depend on the wall clock; to add data to a group that ran without it, stop all its nodes first (docs/how-to/recover-stable-data.md)`,
    })
  if (mode === 'majority' && voters === 1)
    warnings.push({ field: 'peers', message: `${group} has one voter: no node takes over when it fails` })
  else if (mode === 'majority' && voters % 2 === 0)
    warnings.push({
      field: 'peers',
      message: `${group} has ${voters} voters, which tolerate no more failures than ${voters - 1}: add a voter or a witness`,
    })
  if (node.observer)
    warnings.push({
      field: 'observer',
      message: `every other node of ${group} must list it as a peer with "observer: true"; otherwise they count it as a voter`,
    })
  return warnings
}
