/** Turns actions into schedule steps, which `conclave sim` can run. */
import { assert, present } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/index.ts'
import {
  ACKNOWLEDGE,
  type Action,
  BURY,
  COMMAND,
  CRASHING,
  DELETE,
  DELIVER,
  EXAMINE,
  FLIP,
  FOLLOW,
  LAND,
  LATE_COMMAND,
  LATE_TIMER,
  READ,
  RECOVERY,
  TICK,
  TIMER,
} from './batch.ts'
import type { Parts } from './parts.ts'
import { READING_BITS } from './steps.ts'

export function describe(
  parts: Parts,
  row: Int32Array,
  { kind, node, choice, crashAfter }: Action,
): ScheduleStep {
  const { inboxes, reactions, environments, layout } = parts
  const { nodes } = parts.rules
  const name = present(nodes[node], 'node')
  const cut = crashAfter > 0 ? { crashAfter } : {}
  const slot = reactions.slot(node, row[node] as number)
  switch (kind) {
    case DELIVER: {
      const inbox = row[layout.inboxAt + node] as number
      const message = inboxes.pool.data[inboxes.place(inbox) + 1 + choice * 2] as number
      const from = present(nodes[inboxes.message(message).from], 'sender')
      const nth = inboxes.nth(inbox, message)
      return { node: name, do: 'deliver', from, ...(nth > 0 ? { nth } : {}), ...cut }
    }
    case TIMER: {
      const timer = present(slot.timers[choice], 'timer')
      if (layout.cellAt >= 0 && timer === 'write') return { node: name, do: 'write' }
      return { node: name, do: 'timer', name: timer, ...cut }
    }
    case COMMAND: {
      const { command } = present(reactions.commands(node, slot)[choice], 'stimulus')
      const to = command['to']
      if (layout.cellAt >= 0 && command.do === 'tick' && typeof to === 'number') {
        return { node: name, do: 'tickDisk', to }
      }
      return { node: name, do: 'command', command, ...cut }
    }
    case READ: {
      const call = present(slot.calls[choice >> READING_BITS], 'read')
      assert(call.op === 'read', 'a read')
      const nth = choice & ((1 << READING_BITS) - 1)
      return { node: name, do: 'read', of: call.of, ...(nth > 0 ? { nth } : {}) }
    }
    case ACKNOWLEDGE:
      return { node: name, do: 'tickMem' }
    case LATE_TIMER:
      return { node: name, do: 'write', late: true }
    case LATE_COMMAND: {
      const { command } = present(reactions.commands(node, slot)[choice], 'stimulus')
      const to = command['to']
      return { node: name, do: 'tickDisk', ...(typeof to === 'number' ? { to } : {}), late: true }
    }
    case LAND:
      return { node: name, do: 'land' }
    case EXAMINE:
      return { node: name, do: 'examine' }
    case BURY:
      return { node: name, do: 'bury', ...(choice > 0 ? { nth: choice } : {}) }
    case DELETE:
      return { node: name, do: 'delete' }
    case CRASHING:
      return { node: name, do: 'crash' }
    case RECOVERY:
      if (layout.cellAt < 0) return { node: name, do: 'recover', ...cut }
      return { node: name, do: 'reincarnate', ...(choice > 0 ? { nth: choice } : {}), ...cut }
    case FOLLOW:
    case FLIP: {
      const { flips, moves } = environments.outlook(row[layout.environmentAt] as number)
      const move = moves[choice]
      if (move !== undefined) {
        const peer = present(nodes[move.peer], 'node')
        return { node: name, do: kind === FOLLOW ? 'follow' : 'flip', peer, ...cut }
      }
      const { a, b, cutting } = present(flips[choice], 'flip')
      return {
        node: present(nodes[a], 'node'),
        do: cutting ? 'cut' : 'heal',
        peer: present(nodes[b], 'node'),
      }
    }
    case TICK:
      return { do: 'tick' }
    default:
      return kind satisfies never
  }
}
