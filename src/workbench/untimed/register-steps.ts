/** Steps of shared registers in the untimed world: writes, reads, late writes, and the removal of nodes. */
import { type Input, present, unreachable } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/scenario.ts'
import type { Observation } from '../trace/index.ts'
import type { Slot } from './node.ts'
import {
  acknowledgeCell,
  buryCell,
  type Cell,
  canBury,
  examineCell,
  GONE,
  isClosed,
  landCell,
  readingsOf,
} from './registers.ts'
import type { Performed, UntimedRules, UntimedWorld } from './world.ts'

type RegisterStep = ScheduleStep & {
  readonly do: 'tickDisk' | 'tickMem' | 'write' | 'read' | 'land' | 'examine' | 'bury' | 'delete'
}

/**
 * Register steps. `land`, `examine`, `bury` and `delete` act on the register; the others are steps of its
 * owner.
 */
export function performRegisterStep(
  rules: UntimedRules,
  world: UntimedWorld,
  index: number,
  step: RegisterStep,
): Performed | string {
  const { model } = rules
  const cell = world.cells[index]
  if (model === null || cell === undefined) return `${rules.protocol} shares no registers`
  const { node } = step
  const slot = present(world.slots[index], 'slot')
  if (step.do === 'land') {
    if (cell.is !== 'late') return `${node} has no late write`
    return { world: { ...world, cells: world.cells.with(index, landCell(cell)) }, nodeSteps: [], seen: [] }
  }
  if (step.do === 'examine') {
    if (!rules.mayExamine(cell)) return `no node may remove ${node}`
    return {
      world: { ...world, cells: world.cells.with(index, examineCell(cell)) },
      nodeSteps: [],
      seen: [],
    }
  }
  if (step.do === 'bury') {
    if (!canBury(cell, model)) return `no tombstone can be written for ${node} now`
    const tombstone = rules.tombstones(cell.other)[step.nth ?? 0]
    if (tombstone === undefined)
      return `there is no tombstone number ${step.nth ?? 0} for the value that was read`
    return stopSuperseded(rules, { ...world, cells: world.cells.with(index, buryCell(tombstone)) })
  }
  if (step.do === 'delete') {
    if (slot.up && cell.is !== 'buried')
      return `${node} is up: only the register of a removed node can be deleted`
    if (!rules.isDeletable(world.cells, index)) {
      return `the register of ${node} cannot be deleted yet`
    }
    return stopSuperseded(rules, { ...world, cells: world.cells.with(index, GONE) })
  }
  if (!slot.up) return `${node} is down`
  switch (step.do) {
    case 'tickDisk': {
      const command = { do: 'tick', ...(step.to === undefined ? {} : { to: step.to }) }
      return write(rules, world, index, { type: 'command', command }, step.late === true)
    }
    case 'write':
      if (!slot.timers.includes('write')) return `${node} has nothing to write`
      return write(rules, world, index, { type: 'timer', name: 'write' }, step.late === true)
    case 'tickMem': {
      const call = slot.calls.find(({ op }) => op !== 'read')
      if (call === undefined) return `${node} has no write in progress`
      const done = { ...world, cells: world.cells.with(index, acknowledgeCell(cell)) }
      return rules.feed(done, index, { type: 'register', call, outcome: 'ok', value: null })
    }
    case 'read': {
      const call = slot.calls.find((each) => each.op === 'read' && each.of === step.of)
      if (call === undefined) return `${node} does not wait for the register of ${step.of}`
      const of = present(world.cells[rules.nodes.indexOf(step.of)], 'register')
      const value = readingsOf(of, model)[step.nth ?? 0]
      if (value === undefined) return `a read of ${step.of} cannot return number ${step.nth} now`
      return rules.feed(world, index, { type: 'register', call, outcome: 'ok', value })
    }
    default:
      return unreachable(step)
  }
}

/**
 * A node that finds a register deleted lists the registers again and reads all of them. If its own register
 * was removed, it learns so at the latest then, and stops.
 */
function stopSuperseded(rules: UntimedRules, after: UntimedWorld): Performed {
  let world = after
  const seen: Observation[] = []
  for (const [index, node] of rules.untimedNodes.entries()) {
    const slot = present(world.slots[index], 'slot')
    if (!slot.up || !isSuperseded(rules, world.cells, index, slot)) continue
    const did = node.crash(slot)
    seen.push(...did.seen)
    world = rules.apply(world, index, did)
  }
  return { world, nodeSteps: [], seen }
}

/** Whether a node's own register was removed and it waits for a register that is deleted. */
function isSuperseded(rules: UntimedRules, cells: readonly Cell[], index: number, { calls }: Slot): boolean {
  if (!isClosed(present(cells[index], 'register'))) return false
  return calls.some(({ op, ...call }) => {
    if (op !== 'read' || !('of' in call)) return false
    return present(cells[rules.nodes.indexOf(call.of)], 'register').is === 'gone'
  })
}

/** An input that makes the node write. `late`: the node crashes before the write takes place. */
function write(
  rules: UntimedRules,
  world: UntimedWorld,
  index: number,
  input: Input,
  late: boolean,
): Performed | string {
  const node = present(rules.untimedNodes[index], 'node')
  const slot = present(world.slots[index], 'slot')
  const { self } = node.identity
  if (!late) {
    const performed = rules.feed(world, index, input)
    const did = performed.nodeSteps[0]?.result
    return did?.writes.length === 0 && did.slot.up ? `${self} cannot write that now` : performed
  }
  const crash = node.stepLate(slot, input)
  if (rules.model?.semantics !== 'late' || crash === null)
    return `no write of ${self} can be late in this register model`
  const cell: Cell = { ...present(world.cells[index], 'register'), other: crash.late, is: 'late' }
  const nodeStep = { node: self, input, stable: slot.stable, settledOn: null, result: crash.did }
  const next = { ...world, cells: world.cells.with(index, cell) }
  return { world: rules.apply(next, index, crash.did), nodeSteps: [nodeStep], seen: crash.did.seen }
}
