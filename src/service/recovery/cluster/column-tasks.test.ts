import { describe, expect, it } from 'vitest'
import { until } from '../../../../test/support/wait.ts'
import type { CheckpointId } from '../../../recovery/manager/types.ts'
import { ColumnTasks, type ColumnTasksOptions } from './column-tasks.ts'

const idOf = (epoch: number, job = 'sum'): CheckpointId => ({
  job,
  assignment: [10_001, 1],
  epoch,
  token: 10_001,
})

function create(stored: readonly CheckpointId[], drop = async (_ids: readonly CheckpointId[]) => {}) {
  const dropped: (readonly CheckpointId[])[] = []
  const warnings: string[] = []
  const checkpoints = {
    async drop(ids: readonly CheckpointId[]) {
      dropped.push(ids)
      await drop(ids)
      return []
    },
  }
  const tasks = new ColumnTasks({
    checkpoints: checkpoints as unknown as ColumnTasksOptions['checkpoints'],
    manager: null as never,
    stored,
    signal: new AbortController().signal,
    warn: (what, detail) => warnings.push(`${what}: ${detail}`),
    suspect() {},
  })
  return { tasks, dropped, warnings }
}

describe('deletion of columns', () => {
  it('deletes recorded columns that the protocol does not keep, of that job only', () => {
    const { tasks, dropped } = create([])
    for (const id of [idOf(1), idOf(2), idOf(2), idOf(1, 'other')])
      tasks.record({ type: 'holds', id, column: 0, digest: 'd' })
    tasks.drop({ type: 'drop', job: 'sum', keep: [idOf(2)] })
    expect(dropped).toEqual([[idOf(1)]])
    tasks.drop({ type: 'drop', job: 'sum', keep: [] })
    expect(dropped.slice(1)).toEqual([[idOf(2)]])
  })

  it('deletes columns from before the start that the protocol does not keep', () => {
    const { tasks, dropped } = create([idOf(1), idOf(2)])
    tasks.drop({ type: 'drop', job: 'sum', keep: [idOf(2)] })
    expect(dropped).toEqual([[idOf(1)]])
  })

  it('never deletes a column that is stored but not recorded yet', () => {
    const { tasks, dropped } = create([])
    tasks.record({ type: 'holds', id: idOf(1), column: 0, digest: 'd' })
    // The column of epoch 2 is on the disk by now, and the protocol learns of it next.
    tasks.drop({ type: 'drop', job: 'sum', keep: [] })
    tasks.record({ type: 'holds', id: idOf(2), column: 0, digest: 'd' })
    expect(dropped).toEqual([[idOf(1)]])
    tasks.drop({ type: 'drop', job: 'sum', keep: [idOf(2)] })
    expect(dropped).toHaveLength(1)
  })

  it('reports a failed deletion', async () => {
    const { tasks, warnings } = create([idOf(1)], () => Promise.reject(new Error('the disk is gone')))
    tasks.drop({ type: 'drop', job: 'sum', keep: [] })
    await until(() => warnings.length === 1)
    expect(warnings).toEqual(['columns: the disk is gone'])
    await tasks.close()
  })
})
