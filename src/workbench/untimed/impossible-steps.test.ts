/** Steps that a world does not allow: each is refused with its reason, and nothing happens. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { checkedOptions, type ScheduleStep } from '../scenario/index.ts'
import { DEFAULT_LINK_HISTORY } from './link-ends.ts'
import { UntimedRules, type UntimedWorld } from './world.ts'

function worldOf(protocol: string, options: PlainObject = {}, count = 2) {
  const definition = catalogue.find(protocol)
  if (definition === null) throw new Error(`no protocol ${protocol}`)
  const nodes = ids(count)
  const chosen = checkedOptions(definition, nodes, { ...definition.exploration.options, ...options })
  const rules = new UntimedRules(definition, nodes, chosen, 'fifo', false, DEFAULT_LINK_HISTORY)
  const initial = definition.exploration.from === 'settled' ? { leader: 1, members: nodes } : null
  const begin = rules.start(initial).world
  return {
    /** Performs the steps; the last one may be refused. */
    after(...steps: readonly ScheduleStep[]): string | UntimedWorld {
      let world = begin
      for (const [index, step] of steps.entries()) {
        const performed = rules.perform(world, step)
        if (typeof performed === 'string') {
          if (index < steps.length - 1) throw new Error(`${JSON.stringify(step)}: ${performed}`)
          return performed
        }
        ;({ world } = performed)
      }
      return world
    },
  }
}

describe('links that nodes are not notified of', () => {
  const { after } = worldOf('bully')
  const cut: ScheduleStep = { node: 1, do: 'cut', peer: 2 }
  const heal: ScheduleStep = { node: 2, do: 'heal', peer: 1 }

  it('are cut and healed once each', () => {
    expect(after(cut)).toMatchObject({ cut: [[0, 1]] })
    expect(after(cut, heal)).toMatchObject({ cut: [] })
    expect(after(cut, cut)).toBe('the link is already cut')
    expect(after(heal)).toBe('the link is already open')
  })

  it('have no ends that move', () => {
    expect(after({ node: 1, do: 'flip', peer: 2 })).toBe(
      'bully is not notified of link changes; use "cut" and "heal"',
    )
  })
})

describe('links that nodes are notified of', () => {
  const { after } = worldOf('omega')
  const flip: ScheduleStep = { node: 1, do: 'flip', peer: 2 }
  const follow: ScheduleStep = { node: 2, do: 'follow', peer: 1 }
  const crash = (node: number): ScheduleStep => ({ node, do: 'crash' })

  it('are not cut', () => {
    expect(after({ node: 1, do: 'cut', peer: 2 })).toBe(
      'omega is notified of link changes; use "flip" and "follow"',
    )
  })

  it('have ends that follow the other end, and only if it is ahead', () => {
    expect(after(follow)).toBe('the end of 1 is not ahead of the end of 2')
    expect(after(flip, follow)).not.toBeTypeOf('string')
    expect(after(flip, follow, follow)).toBe('the end of 1 is not ahead of the end of 2')
  })

  it('have ends that do not run ahead of the slack', () => {
    expect(after(flip, flip)).toBe('the end of 1 would be too far ahead')
  })

  it('do not move at a node that is down, or come up towards one', () => {
    expect(after(crash(1), flip)).toBe('1 is down')
    const followed: ScheduleStep = { node: 1, do: 'follow', peer: 2 }
    expect(after(crash(2), followed, flip)).toBe('2 is down')
  })
})

describe('nodes', () => {
  const { after } = worldOf('bully')
  const crash: ScheduleStep = { node: 1, do: 'crash' }
  const recover: ScheduleStep = { node: 1, do: 'recover' }

  it('crash while they are up, and recover while they are down', () => {
    expect(after(recover)).toBe('1 is up already')
    expect(after(crash, crash)).toBe('1 is down already')
    expect(after(crash, recover)).not.toBeTypeOf('string')
  })

  it('receive only messages that were sent, and timers that are set', () => {
    expect(after({ node: 1, do: 'deliver', from: 2 })).toContain('no such message')
    expect(after({ node: 1, do: 'timer', name: 'never' })).toBeTypeOf('string')
  })
})

describe('registers', () => {
  const { after } = worldOf('epochs', { registers: 'atomic' })

  it('are missing in a protocol with messages', () => {
    expect(worldOf('bully').after({ node: 1, do: 'write' })).toBe('bully shares no registers')
  })

  it.each<[ScheduleStep, string]>([
    [{ node: 1, do: 'land' }, '1 has no late write'],
    [{ node: 1, do: 'write' }, '1 has nothing to write'],
    [{ node: 1, do: 'delete' }, '1 is up: only the register of a removed node can be deleted'],
    [{ node: 1, do: 'examine' }, 'no node may remove 1'],
    [{ node: 1, do: 'bury' }, 'no tombstone can be written for 1 now'],
    [{ node: 1, do: 'tickDisk', to: 1, late: true }, 'no write of 1 can be late in this register model'],
  ])('refuse %j', (step, reason) => {
    expect(after(step)).toBe(reason)
  })

  it('are not used by a node that is down', () => {
    expect(after({ node: 1, do: 'crash' }, { node: 1, do: 'write' })).toBe('1 is down')
  })
})
