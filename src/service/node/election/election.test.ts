import { expect, it } from 'vitest'
import { nodeReachOf, viewOf } from './election.ts'

const NOW = 1_000_000

it.each<[string, Parameters<typeof nodeReachOf>[1], ReturnType<typeof nodeReachOf>]>([
  [
    'evidence that still counts',
    { heardAt: 990_000, evidenceAt: 980_000, evidenceFor: 30_000, isReachable: false, now: NOW },
    { id: 'b', reachable: true, evidenceMsAgo: 20, heardMsAgo: 10 },
  ],
  [
    'evidence that has just ceased to count',
    { heardAt: 990_000, evidenceAt: 970_000, evidenceFor: 30_000, isReachable: true, now: NOW },
    { id: 'b', reachable: false, evidenceMsAgo: 30, heardMsAgo: 10 },
  ],
  [
    'no evidence, although a late message arrived',
    { heardAt: 999_500, evidenceAt: null, evidenceFor: 30_000, isReachable: true, now: NOW },
    { id: 'b', reachable: false, evidenceMsAgo: null, heardMsAgo: 0.5 },
  ],
  [
    'a protocol that does not say for how long evidence counts',
    { heardAt: null, evidenceAt: 0, evidenceFor: null, isReachable: true, now: NOW },
    { id: 'b', reachable: true, evidenceMsAgo: 1000, heardMsAgo: null },
  ],
  [
    'such a protocol that says it is unreachable',
    { heardAt: null, evidenceAt: NOW, evidenceFor: null, isReachable: false, now: NOW },
    { id: 'b', reachable: false, evidenceMsAgo: 0, heardMsAgo: null },
  ],
  [
    'a message that another thread recorded after the clock was read',
    { heardAt: NOW + 5, evidenceAt: NOW + 5, evidenceFor: 30_000, isReachable: true, now: NOW },
    { id: 'b', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0 },
  ],
])('the status of a node with %s', (_what, known, status) => {
  expect(nodeReachOf('b', known)).toEqual(status)
})

it('puts the token of a view beside its leader', () => {
  expect(
    viewOf({ role: 'follower', leader: 'a', token: 3, members: ['a', 'b'], until: null, detail: {} }),
  ).toEqual({
    role: 'follower',
    leader: { id: 'a', token: 3 },
    members: ['a', 'b'],
  })
  expect(
    viewOf({ role: 'candidate', leader: null, token: 3, members: null, until: null, detail: {} }),
  ).toEqual({
    role: 'candidate',
    leader: null,
    members: null,
  })
})
