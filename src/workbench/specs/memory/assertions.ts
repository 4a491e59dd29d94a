/**
 * Memory shared by Garcia-Molina's assertions: the status, coordinator, group and task of each running node.
 */
import type { NodeId, Plain } from '../../../core/index.ts'
import type { Fold } from '../spec.ts'

export type Member = {
  readonly node: NodeId
  readonly up: boolean
  readonly status: string | null
  readonly coordinator: NodeId | null
  /** The number of its group, if the protocol has groups. */
  readonly group: readonly [NodeId, number] | null
  /** The task it was given. */
  readonly d: NodeId | null
}

export const members: Fold<readonly Member[]> = {
  begin: ({ nodes }) => nodes.map(absent),
  next(memory, seen) {
    switch (seen.type) {
      case 'view': {
        const detail: { readonly [field: string]: Plain } = seen.view.detail ?? {}
        const group = (detail['group'] ?? null) as Member['group']
        const coordinator = (detail['coordinator'] ?? group?.[0] ?? seen.view.leader) as NodeId | null
        const status = (detail['status'] ?? null) as string | null
        return update(memory, {
          node: seen.node,
          up: true,
          status,
          coordinator,
          group,
          d: (detail['d'] ?? null) as NodeId | null,
        })
      }
      case 'down':
        return update(memory, absent(seen.node))
      case 'up':
        return update(memory, { ...absent(seen.node), up: true })
      default:
        return memory
    }
  },
}

function absent(node: NodeId): Member {
  return { node, up: false, status: null, coordinator: null, group: null, d: null }
}

function update(memory: readonly Member[], next: Member): readonly Member[] {
  const index = memory.findIndex(({ node }) => node === next.node)
  const was = memory[index]
  if (was === undefined || JSON.stringify(was) === JSON.stringify(next)) return memory
  return memory.with(index, next)
}

/** Running nodes that have a coordinator. Reorganization counts as well as Normal. */
export function placed(memory: readonly Member[]): readonly Member[] {
  return memory.filter(({ up, status }) => up && (status === 'Normal' || status === 'Reorganization'))
}

export function sameGroupNumber(a: Member, b: Member): boolean {
  return a.group !== null && b.group !== null && a.group[0] === b.group[0] && a.group[1] === b.group[1]
}
