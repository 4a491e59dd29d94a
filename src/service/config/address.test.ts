import { describe, expect, it } from 'vitest'
import {
  addressProblem,
  familyMismatch,
  nodeIdProblem,
  parseAddress,
  parsePeer,
  peerOrAddressProblem,
  peerProblem,
  unreachablePort,
} from './address.ts'

const FORM = 'HOST:PORT, for example 10.0.0.1:7400 or [::1]:7400'
const PEER_FORM = 'ID=HOST:PORT, for example b=10.0.0.2:7400'

describe('HOST:PORT', () => {
  it.each([
    ['10.0.0.1:7400', { host: '10.0.0.1', port: 7400 }],
    ['db.example.com:1', { host: 'db.example.com', port: 1 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
    ['[::1]:7400', { host: '::1', port: 7400 }],
    ['[fe80::1%eth0]:80', { host: 'fe80::1%eth0', port: 80 }],
    ['0.0.0.0:0', { host: '0.0.0.0', port: 0 }],
    ['h:007', { host: 'h', port: 7 }],
  ])('accepts and parses %s', (text, address) => {
    expect(addressProblem(text)).toBeNull()
    expect(parseAddress(text)).toEqual(address)
  })

  it.each([
    ['', `"" is not ${FORM}`],
    ['h', `"h" has no port; use ${FORM}`],
    ['[::1]', `"[::1]" has no port; use ${FORM}`],
    ['::1', `"::1" is not ${FORM}`],
    ['::1:80', `"::1:80" is not ${FORM}`],
    ['h:', `"h:" is not ${FORM}`],
    [':80', `":80" is not ${FORM}`],
    ['h:80a', `"h:80a" is not ${FORM}`],
    ['h:-1', `"h:-1" is not ${FORM}`],
    ['h h:80', `"h h:80" is not ${FORM}`],
    ['[::1:80', `"[::1:80" is not ${FORM}`],
    ['[]:80', `"[]:80" is not ${FORM}`],
    ['http://h:80', `"http://h:80" is not ${FORM}`],
    ['h:123456', `"h:123456" is not ${FORM}`],
    ['h:65536', '"h:65536" has port 65536; a port is at most 65535'],
    ['h:99999', '"h:99999" has port 99999; a port is at most 65535'],
  ])('refuses %j', (text, problem) => {
    expect(addressProblem(text)).toBe(problem)
  })
})

describe('ID=HOST:PORT', () => {
  it.each([
    ['b=10.0.0.2:7400', { id: 'b', address: { host: '10.0.0.2', port: 7400 } }],
    ['b=[::1]:1', { id: 'b', address: { host: '::1', port: 1 } }],
    ['größe=h:1', { id: 'größe', address: { host: 'h', port: 1 } }],
    ['a:b=h:1', { id: 'a:b', address: { host: 'h', port: 1 } }],
  ])('accepts and parses %s', (text, peer) => {
    expect([peerProblem(text), peerOrAddressProblem(text)]).toEqual([null, null])
    expect(parsePeer(text)).toEqual(peer)
  })

  it.each([
    ['b', `"b" is not ${PEER_FORM}`],
    ['10.0.0.2:7400', `"10.0.0.2:7400" has no id; use ${PEER_FORM}`],
    ['=h:1', `"=h:1" has no id before the "="; use ${PEER_FORM}`],
    ['b=h', `"b=h" has no port; use ${PEER_FORM}`],
    ['b=', `"b=" is not ${PEER_FORM}`],
    ['b=c=h:1', `"b=c=h:1" is not ${PEER_FORM}`],
    ['b==h:1', `"b==h:1" is not ${PEER_FORM}`],
    ['b=h,c:1', `"b=h,c:1" is not ${PEER_FORM}`],
    ['b=h:70000', '"b=h:70000" has port 70000; a port is at most 65535'],
    ['b=h:0', '"b=h:0" has port 0, which no node can reach; use the port on which the peer listens'],
    ['b=h:000', '"b=h:000" has port 0, which no node can reach; use the port on which the peer listens'],
  ])('refuses %j', (text, problem) => {
    expect(peerProblem(text)).toBe(problem)
  })

  it.each(['a b', 'a,b', 'a=b', '', 'a\tb'])('refuses the id %j, which no list of peers can hold', (id) => {
    expect(nodeIdProblem(id)).toBe(
      `${JSON.stringify(id)} contains a space, a comma or "="; use other characters, because lists of peers have the form ID=HOST:PORT,...`,
    )
  })
})

describe('a peer of join, which may have no id', () => {
  it('is accepted and parsed with the id null', () => {
    expect(peerOrAddressProblem('10.0.0.2:7400')).toBeNull()
    expect(parsePeer('10.0.0.2:7400')).toEqual({ id: null, address: { host: '10.0.0.2', port: 7400 } })
  })

  it.each([
    ['h:0', '"h:0" has port 0, which no node can reach; use the port on which the peer listens'],
    ['h:65536', '"h:65536" has port 65536; a port is at most 65535'],
    ['::1:80', `"::1:80" is not ${FORM}`],
    ['b', `"b" is not ${PEER_FORM}`],
  ])('is refused as %j', (text, problem) => {
    expect(peerOrAddressProblem(text)).toBe(problem)
  })

  it.each([
    ['h:10', null],
    ['h:100', null],
    ['h:0', 'has port 0'],
    ['[::1]:00', 'has port 0'],
  ])('can be reached on %s: %s', (text, problem) => {
    if (problem === null) expect(unreachablePort(text)).toBeNull()
    else expect(unreachablePort(text)).toContain(problem)
  })
})

describe('the address family of a peer', () => {
  it.each([
    ['127.0.0.1', '10.0.0.1'],
    ['::1', 'fe80::1'],
    ['::', '10.0.0.1'],
    ['127.0.0.1', 'db.example.com'],
    ['localhost', '::1'],
  ])('suits a node that listens on %s: %s', (listen, peer) => {
    expect(familyMismatch({ host: listen, port: 1 }, { host: peer, port: 2 })).toBeNull()
  })

  it.each([
    ['127.0.0.1', '::1', '::1 is an IPv6 address, but this node listens on the IPv4 address 127.0.0.1'],
    ['0.0.0.0', 'fe80::1', 'fe80::1 is an IPv6 address, but this node listens on the IPv4 address 0.0.0.0'],
    ['::1', '10.0.0.1', '10.0.0.1 is an IPv4 address, but this node listens on the IPv6 address ::1'],
  ])('does not suit a node that listens on %s: %s', (listen, peer, problem) => {
    expect(familyMismatch({ host: listen, port: 1 }, { host: peer, port: 2 })).toBe(
      `${problem}; use one address family, or listen on [::], which accepts both`,
    )
  })
})
