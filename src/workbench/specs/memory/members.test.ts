import { describe, expect, it } from 'vitest'
import { downAt, memoryAfter, upAt, viewAt } from '../../../../test/support/traces.ts'
import type { PlainObject } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { RunFacts } from '../spec.ts'
import { members } from './assertions.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { kappaBI: 100_000 } }

describe('members of assertions', () => {
  const detail = (fields: PlainObject): Observation => viewAt(0, 1, 'follower', { leader: 2, detail: fields })

  it.each([
    ['its own field', { coordinator: 3, group: [2, 5] }, 3],
    ['its group', { group: [1, 5] }, 1],
    ['its leader', {}, 2],
  ])('take the coordinator of a view from %s', (_where, fields, coordinator) => {
    expect(memoryAfter(members, RUN, [detail(fields)])[0]?.coordinator).toBe(coordinator)
  })

  it('forget status, group and task in a crash and in a restart', () => {
    const shown = detail({ status: 'Normal', group: [2, 5], d: 2 })
    const empty = { node: 1, status: null, coordinator: null, group: null, d: null }
    expect(memoryAfter(members, RUN, [shown])[0]).toEqual({
      node: 1,
      up: true,
      status: 'Normal',
      coordinator: 2,
      group: [2, 5],
      d: 2,
    })
    expect(memoryAfter(members, RUN, [shown, downAt(1, 1)])[0]).toEqual({ ...empty, up: false })
    expect(memoryAfter(members, RUN, [shown, downAt(1, 1), upAt(2, 1)])[0]).toEqual({ ...empty, up: true })
  })
})
