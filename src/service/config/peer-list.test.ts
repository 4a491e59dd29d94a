import { expect, it } from 'vitest'
import { parseAddress, parsePeer } from './address.ts'
import { peerListProblems } from './peer-list.ts'

/** The problems of node a with a list of peers, written as ID=HOST:PORT. */
function problems(listen: string, ...peers: readonly string[]): readonly string[] {
  const listed = peers.map((text) => {
    const { id, address } = parsePeer(text)
    return { id: id ?? '', address }
  })
  return peerListProblems({ id: 'a', listen: parseAddress(listen) }, listed).map(
    ({ field, message }) => `${field}: ${message}`,
  )
}

it.each<[string, readonly string[]]>([
  ['127.0.0.1:1', []],
  ['127.0.0.1:1', ['b=127.0.0.1:2', 'c=127.0.0.1:3']],
  // The list may contain the node itself: on another interface, but with its port.
  ['0.0.0.0:7400', ['a=10.0.0.1:7400', 'b=10.0.0.2:7400']],
  ['[::]:7400', ['a=10.0.0.1:7400', 'b=10.0.0.2:7400', 'c=[fe80::1]:7400']],
  ['127.0.0.1:1', ['b=h:2', 'c=h:3']],
])('accepts, for a node on %s, %j', (listen, peers) => {
  expect(problems(listen, ...peers)).toEqual([])
})

it.each<[string, readonly string[], readonly string[]]>([
  [
    '127.0.0.1:1',
    ['b=h:2', 'b=h:3', 'b=h:4'],
    [
      'peers[1]: b is listed twice; every node needs its own id',
      'peers[2]: b is listed twice; every node needs its own id',
    ],
  ],
  [
    '127.0.0.1:1',
    ['b=[::1]:2', 'c=[::1]:2'],
    [
      'peers[0]: ::1 is an IPv6 address, but this node listens on the IPv4 address 127.0.0.1; use one address family, or listen on [::], which accepts both',
      'peers[1]: c has the same address as b, [::1]:2; every node needs its own address',
    ],
  ],
  [
    '127.0.0.1:1',
    ['b=h:2', 'a=127.0.0.1:2'],
    ['peers[1]: a is this node, but it listens on 127.0.0.1:1; check its id'],
  ],
  // The id is the first thing to correct.
  ['127.0.0.1:1', ['b=h:2', 'b=h:2'], ['peers[1]: b is listed twice; every node needs its own id']],
])('refuses, for a node on %s, %j', (listen, peers, expected) => {
  expect(problems(listen, ...peers)).toEqual(expected)
})
