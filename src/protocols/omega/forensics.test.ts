/** Recordings of omega are incomplete: what is missing is not held against a node. */
import { describe, expect, it } from 'vitest'
import { outputAt, viewAt } from '../../../test/support/traces.ts'
import type { Observation } from '../../workbench/trace/index.ts'
import type { RecordedRun } from '../hosting.ts'
import { omegaForensics } from './forensics.ts'

const run = (node: number, skipped = 0): RecordedRun => ({ node, skipped, header: { nodes: [1, 2, 3, 4] } })
const installs = (ms: number, node: number, n: number, lives: readonly number[] = [1, 1]): Observation =>
  viewAt(ms, node, 'follower', {
    detail: { life: lives[node - 1] ?? 1, view: { id: [n, 1], members: [1, 2], lives } },
  })
const complete = (seen: readonly Observation[], runs: readonly RecordedRun[]): readonly Observation[] =>
  omegaForensics.complete<Observation>(seen, runs, (at, node, event) => ({ type: 'output', at, node, event }))
const promise = (ms: number, node: number, n: number): Observation =>
  outputAt(ms, node, { type: 'promise', id: [n, 1] })

describe('the specifications that are not judged', () => {
  it('include the stop of an expelled leader', () => {
    expect(omegaForensics.unjudged([run(1), run(2), run(3)])).toEqual({
      'superseded-leader': 'not judged: a recording does not say when a process was stopped or killed',
    })
  })
  it('include the chain of views if two or more nodes left no trace', () => {
    expect(Object.keys(omegaForensics.unjudged([run(1), run(2)]))).toEqual([
      'superseded-leader',
      'primary-chain',
    ])
  })
})

describe('the observations of a run', () => {
  it('stay as they are if all members are recorded', () => {
    const seen = [promise(0, 1, 2), installs(1, 1, 2), installs(2, 2, 2)]
    expect(complete(seen, [run(1), run(2)])).toEqual(seen)
  })

  it('get the promises of members without a complete trace', () => {
    const seen = [installs(1, 1, 2)]
    expect(complete(seen, [run(1)])).toEqual([promise(1, 2, 2), ...seen])
  })

  it('get the promises of a life that was not recorded', () => {
    const seen = [installs(1, 2, 2, [1, 1]), installs(2, 1, 3, [1, 5])]
    expect(complete(seen, [run(1), run(2)])).toEqual([seen[0], promise(2, 2, 3), seen[1]])
  })

  it('begin without the views of a process that had not joined', () => {
    const before = viewAt(0, 1, 'follower')
    expect(complete([before, outputAt(1, 1, { type: 'other' })], [run(1)])).toEqual([
      outputAt(1, 1, { type: 'other' }),
    ])
  })

  it('begin with the latest start of a truncated trace, each node with its last view until then', () => {
    const seen = [
      installs(1, 1, 2),
      installs(3, 1, 3),
      installs(5, 2, 3),
      installs(7, 1, 4),
      installs(7, 2, 4),
    ]
    const kept = complete(seen, [run(1), run(2, 9)]).filter(({ type }) => type === 'view')
    expect(kept.map(({ at }) => at / 1000)).toEqual([3, 5, 7, 7])
  })
})
