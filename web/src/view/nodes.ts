/** The rows of the nodes table. */
import type { Local, ObservedNode, Status } from '../data/types.ts'
import { DASH, formatAgo, formatMs } from './format.ts'

export type NodeState = 'leads' | 'reachable' | 'unwritable' | 'unreachable' | 'paused' | 'down'

export type NodeRow = {
  readonly id: string
  readonly isSelf: boolean
  readonly isLeader: boolean
  readonly state: NodeState
  readonly stateWord: string
  readonly role: ObservedNode['role']
  readonly priority: string
  readonly version: string
  /** Whether it runs another version than the agent that reports. */
  readonly isOtherVersion: boolean
  readonly address: string
  readonly heard: string
  readonly roundTrip: string
  readonly lateness: string
  readonly latenessDetail: string
  /** Whether the node breaks the assumption that its timers fire within σ. */
  readonly isLate: boolean
  readonly page: string | null
  /** Under `conclave up`: the state of its process. */
  readonly local: Local['nodes'][string] | null
}

const WORDS: { readonly [state in NodeState]: string } = {
  leads: 'leads',
  reachable: 'reachable',
  unwritable: 'cannot vote',
  unreachable: 'unreachable',
  paused: 'paused',
  down: 'killed',
}

export function nodeRows(status: Status, local: Local | null): readonly NodeRow[] {
  return status.nodes.map((node) => nodeRow(node, status, local?.nodes[String(node.id)] ?? null))
}

function nodeRow(node: ObservedNode, status: Status, local: NodeRow['local']): NodeRow {
  const isSelf = String(node.id) === String(status.self.id)
  const state = stateOf(node, local)
  const measured = isSelf ? (status.measured ?? node.measured) : node.measured
  const lateness = measured?.latenessMs ?? null
  return {
    id: String(node.id),
    isSelf,
    isLeader: node.leader,
    state,
    stateWord: WORDS[state],
    role: node.role,
    priority: node.priority === null ? DASH : String(node.priority),
    version: node.version ?? DASH,
    isOtherVersion: node.version !== null && status.version !== '' && node.version !== status.version,
    address: node.address ?? DASH,
    heard: isSelf ? 'itself' : formatAgo(node.heardMsAgo),
    roundTrip: isSelf ? DASH : formatMs(node.rttMs),
    lateness: lateness === null ? DASH : formatMs(lateness.p99),
    latenessDetail:
      measured === null || lateness === null
        ? 'not measured'
        : `99 % of its timers were late by at most ${formatMs(lateness.p99)}, all by at most ${formatMs(lateness.max)}; σ is ${formatMs(measured.sigmaMs)}`,
    isLate: measured !== null && lateness !== null && lateness.max > measured.sigmaMs,
    page: isSelf ? null : node.page,
    local,
  }
}

function stateOf({ leader, reachable, canStore }: ObservedNode, local: NodeRow['local']): NodeState {
  if (local === 'paused' || local === 'down') return local
  if (leader) return 'leads'
  if (!reachable) return 'unreachable'
  return canStore === false ? 'unwritable' : 'reachable'
}

/**
 * Which action ends the term: `conclave up` can end the term of any node; otherwise only the agent of the leader itself
 * can, with its admin token.
 */
export function handOverFor({ leader, self }: Status, local: Local | null): 'yield' | 'step-down' | null {
  if (leader === null) return null
  if (local !== null) return 'yield'
  return String(leader.id) === String(self.id) ? 'step-down' : null
}

/** A colour for each node, by its place among all nodes of the group: one of eight. */
export function colourOf(ids: readonly string[], id: string | null): number {
  const place = id === null ? -1 : ids.indexOf(id)
  return place === -1 ? 0 : (place % 8) + 1
}

export type Tolerance = {
  readonly count: number
  readonly sentence: string
  readonly voters: readonly { readonly id: string; readonly canVote: boolean }[]
}

export function toleranceOf({ failureTolerance, voters, nodes, leader, mode }: Status): Tolerance {
  const all = voters.map((id) => {
    const node = nodes.find((each) => String(each.id) === String(id))
    return { id: String(id), canVote: node?.reachable === true && node.canStore !== false }
  })
  const able = all.filter(({ canVote }) => canVote).length
  const isStored = nodes.every(({ canStore }) => canStore !== false)
  const majority = Math.floor(all.length / 2) + 1
  const needed = mode === 'majority' ? majority : 1
  return {
    count: leader === null ? 0 : failureTolerance,
    sentence:
      mode === 'store'
        ? `${all.length} nodes have a register in the store, 1 needed`
        : `${able} of ${all.length} voters ${isStored ? 'reachable' : 'can vote'}, ${needed} needed`,
    voters: all,
  }
}
