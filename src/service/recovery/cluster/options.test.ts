import { expect, it } from 'vitest'
import { InvalidOptionsError } from '../../node/index.ts'
import { type ClusterOptions, clusterSettings, toleranceOf } from './options.ts'

const GOOD: ClusterOptions = {
  id: 'a',
  listen: '127.0.0.1:7400',
  peers: ['b=127.0.0.1:7401', 'c=127.0.0.1:7402'],
  key: new Uint8Array(32),
  data: '/tmp/a',
}

it('fills the defaults in, and runs the protocol recovery', () => {
  const { election, slots, maxCheckpointBytes, sink, store } = clusterSettings(GOOD)
  expect(election).toMatchObject({
    group: 'jobs',
    protocol: 'recovery',
    nodes: ['a', 'b', 'c'],
    data: '/tmp/a',
  })
  expect([slots, maxCheckpointBytes, sink, store]).toEqual([4, 2 ** 30, null, null])
})

const given =
  (more: object): (() => unknown) =>
  () =>
    clusterSettings({ ...GOOD, ...more })

it.each([
  [
    { peers: ['b=10.0.0.2'] },
    'peers[0]: "b=10.0.0.2" has no port; use ID=HOST:PORT, for example b=10.0.0.2:7400',
  ],
  [{ data: undefined }, 'data: is required with recovery, whose job table must survive a crash'],
  [{ slots: -1 }, /^slots: -1 is out of bounds/],
  [{ slots: 1.5 }, /^slots: 1.5 is not an integer/],
  [{ tolerate: 2 }, 'tolerate: 3 nodes survive the loss of 1; for 2 the group needs 5 nodes'],
  [{ sink: {} }, 'sink: must be a sink with accept() and close()'],
  [{ store: 'folder' }, /^store: must be a column store/],
  [{ drainMs: 5 }, 'drainMs: does not apply to openCluster; remove it'],
  [{ slot: 5 }, /^slot: unknown field/],
  [{ listen: '127.0.0.1:0' }, 'listen: must have a port: the other nodes fetch columns from it'],
  [{ key: 'secret' }, /^key: must be a Uint8Array/],
])('refuses %o', (more, message) => {
  expect(given(more)).toThrow(InvalidOptionsError)
  expect(given(more)).toThrow(message)
})

it('reports all problems of its own options at once', () => {
  expect(given({ slots: -1, stallMs: 1, mode: 'local' })).toThrow(/mode: .*\nslots: .*\nstallMs: /)
})

it('tolerates the loss of as many nodes as leave a majority, and at most two', () => {
  expect([2, 3, 4, 5, 9].map(toleranceOf)).toEqual([0, 1, 1, 2, 2])
})
