/**
 * The two invariants of the paper's proof, section 5. They refer to whole states: phase, diskWritten and
 * blocksRead of every node together with the contents of the disk. Parentheses are balanced as the prose
 * says. A node that is down has no memory; its block on the disk counts.
 */
import { compareIds, type NodeId, type Plain, type PlainObject } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Fold, Judgement, Spec } from './spec.ts'

type Block = {
  readonly ctr: number
  readonly pbal: number
  readonly bal: number
  readonly val: NodeId | null
}
type Held = { readonly of: NodeId; readonly block: Block }

type Node = Held & {
  /** ctrv */
  readonly ctr: number
  readonly phase: number
  readonly diskWritten: boolean
  readonly blocksRead: readonly Held[]
}

const nothing: Fold<null> = { begin: () => null, next: (memory) => memory }
const ZERO: Block = { ctr: 0, pbal: 0, bal: 0, val: null }

function blockIn(value: Plain | undefined): Block {
  return value === null || value === undefined ? ZERO : (value as Block)
}

function nodesIn({ nodes, variables, registers }: Observation & { type: 'state' }): readonly Node[] {
  return nodes.map((of, index) => {
    const block = blockIn(registers[index])
    const held = variables[index] as PlainObject | null
    if (held === null) return { of, block, ctr: block.ctr, phase: 0, diskWritten: false, blocksRead: [] }
    const { ctr, phase, diskWritten, read } = held as unknown as {
      readonly ctr: number
      readonly phase: number
      readonly diskWritten: boolean
      readonly read: readonly (readonly [NodeId, Block])[]
    }
    const blocksRead = read.map(([from, seen]) => ({ of: from, block: seen }))
    return { of, block, ctr, phase, diskWritten, blocksRead }
  })
}

function isAfter(a: number, i: NodeId, b: number, j: NodeId): boolean {
  return a > b || (a === b && compareIds(i, j) > 0)
}

/** Greaterthan */
function isGreater(a: Held, b: Held): boolean {
  if (a.block.ctr !== b.block.ctr) return a.block.ctr > b.block.ctr
  return isAfter(a.block.pbal, a.of, b.block.pbal, b.of)
}

function hasRead(p: Node, of: NodeId): boolean {
  return p.blocksRead.some((read) => read.of === of)
}

/**
 * MaxBalInp: every node with a greater (bal, id) in this epoch, on the disk or as read by another node, has
 * the same value.
 */
function isDecided(nodes: readonly Node[], p: Node): boolean {
  const { bal, val } = p.block
  if (val === null) return true
  const agrees = ({ of, block }: Held): boolean => !isAfter(block.bal, of, bal, p.of) || block.val === val
  return nodes.every(
    (n) =>
      n.ctr !== p.ctr ||
      (agrees(n) && n.blocksRead.every((read) => read.block.ctr !== n.ctr || agrees(read))),
  )
}

function judged(seen: Observation, concerned: (nodes: readonly Node[]) => Judgement): Judgement {
  return seen.type === 'state' ? concerned(nodesIn(seen)) : 'not concerned'
}

export const inv4: Spec<null> = {
  name: 'INV4',
  title: 'all later votes of an epoch agree with a written vote, or its owner will start again',
  source: 'Dharmadeep and Gopinath, section 5 (AFTLE_INV4); search with the option keepsRead',
  when: 'state',
  fold: nothing,
  judge: (_memory, seen) =>
    judged(seen, (nodes) => {
      const voters = nodes.filter(({ phase, diskWritten }) => phase >= 2 && diskWritten)
      for (const p of voters) {
        if (isDecided(nodes, p) || p.blocksRead.some((read) => isGreater(read, p))) continue
        if (nodes.some((n) => !hasRead(p, n.of) && isGreater(n, p))) continue
        return {
          violated: `the vote of ${p.of} in epoch ${p.ctr} is neither decided nor about to be given up`,
        }
      }
      return voters.length === 0 ? 'not concerned' : 'held'
    }),
}

export const inv4k: Spec<null> = {
  name: 'INV4k',
  title: 'a ballot in a higher epoch is greater than that of a leader of a lower epoch that read it',
  source: 'Dharmadeep and Gopinath, section 5 (AFTLE_INV4k), the formula; search with the option keepsRead',
  when: 'state',
  fold: nothing,
  judge: (_memory, seen) =>
    judged(seen, (nodes) => {
      let isConcerned = false
      for (const p of nodes) {
        if (p.phase < 2 || !p.diskWritten || p.block.val !== p.of) continue
        for (const n of nodes) {
          if (n === p || n.ctr <= p.ctr) continue
          if (n.phase < 1 || (n.phase === 1 && !n.diskWritten)) continue
          isConcerned = true
          if (isAfter(n.block.pbal, n.of, p.block.pbal, p.of) || !hasRead(p, n.of)) continue
          if (p.blocksRead.some((read) => isGreater(read, p))) continue
          return {
            violated: `${n.of} has ballot ${n.block.pbal} in epoch ${n.ctr}, not above ballot ${p.block.pbal} of ${p.of} in epoch ${p.ctr}`,
          }
        }
      }
      return isConcerned ? 'held' : 'not concerned'
    }),
}
