/** What the doctor says about the addresses of peers in the configuration, and in the running agent. */
import { describe, expect, it } from 'vitest'
import type { StatusResponse } from '../../service/client/index.ts'
import { type AddressCheck, type ConfiguredPeer, checkAddresses } from './addresses.ts'
import type { Finding } from './findings.ts'

const peer = (id: string, host: string, port = 7400): ConfiguredPeer => ({
  id,
  address: { host, port },
  entry: `peers[${id}] in a.yaml:7:5`,
})

const NAMES: { readonly [name: string]: readonly string[] } = {
  b: ['10.0.0.2'],
  c: ['10.0.0.3', 'fd00::3'],
  alias: ['10.0.0.2'],
  empty: [],
}

async function lookup(host: string): Promise<readonly string[]> {
  const found = NAMES[host]
  if (found === undefined) throw Object.assign(new Error(`getaddrinfo ${host}`), { code: 'ENOTFOUND' })
  return found
}

/** The running agent, with the configured and the resolved address of each peer. */
const agent = (...nodes: readonly (readonly [id: string, address: string, resolved?: string | null])[]) =>
  ({
    nodes: [
      { id: 'a', address: null },
      ...nodes.map(([id, address, resolvedAddress]) => ({ id, address, resolvedAddress })),
    ],
  }) as unknown as StatusResponse

const check = (peers: readonly ConfiguredPeer[], more: Partial<AddressCheck> = {}) =>
  checkAddresses({
    self: 'a',
    listen: { host: '10.0.0.1', port: 7400 },
    peers,
    status: null,
    isProbed: false,
    lookup,
    ...more,
  })

const wrong = (text: string, fix: string): Finding => ({ area: 'address', level: 'error', text, fix })
const fine = (text: string): Finding => ({ area: 'address', level: 'ok', text, fix: null })

describe('without a running agent', () => {
  it('resolves every name', async () => {
    expect(await check([peer('b', 'b'), peer('c', 'c')])).toEqual([
      fine('the addresses of 2 peers in the configuration can be resolved'),
    ])
    expect(await check([])).toEqual([])
  })

  it('names the entry whose name cannot be resolved', async () => {
    const fix = 'correct peers[b] in a.yaml:7:5, or the DNS'
    expect(await check([peer('b', 'typo'), peer('c', 'c')])).toEqual([
      wrong('b: the name typo cannot be resolved (ENOTFOUND)', fix),
    ])
    expect(await check([peer('b', 'empty')])).toEqual([
      wrong('b: the name empty cannot be resolved (it has no address)', fix),
    ])
    // The probe reports it, and nothing else calls all addresses right.
    expect(await check([peer('b', 'typo'), peer('c', 'c')], { isProbed: true })).toEqual([])
    expect(await check([peer('c', 'c')], { isProbed: true })).toMatchObject([{ level: 'ok' }])
  })

  it('names both entries with one address, also behind two names', async () => {
    expect(await check([peer('b', 'b'), peer('c', 'alias')])).toEqual([
      wrong(
        'b (b:7400) and c (alias:7400) are the same address, but only one node can be there',
        'correct peers[b] in a.yaml:7:5 or peers[c] in a.yaml:7:5',
      ),
    ])
    // Two ports of one host are two addresses.
    expect(await check([peer('b', 'b'), peer('c', 'alias', 7401)])).toMatchObject([{ level: 'ok' }])
  })

  it('names an entry with the address of this node', async () => {
    const own = wrong(
      'b is at 10.0.0.1:7400, where a itself listens',
      'correct peers[b] in a.yaml:7:5: give b its own address',
    )
    expect(await check([peer('b', '10.0.0.1')])).toEqual([own])
    const anywhere = { listen: { host: '0.0.0.0', port: 7400 } }
    expect(await check([peer('b', '127.0.0.1')], anywhere)).toMatchObject([{ level: 'error' }])
    expect(await check([peer('b', '192.0.2.9')], anywhere)).toMatchObject([{ level: 'ok' }])
  })
})

describe('with a running agent', () => {
  const peers = [peer('b', 'b'), peer('c', 'c')]

  it('compares the configuration with what the agent uses', async () => {
    const status = agent(['b', 'b:7400', '10.0.0.2:7400'], ['c', 'c:7400', '[fd00::3]:7400'])
    expect(await check(peers, { status })).toEqual([
      fine('the addresses of 2 peers in the configuration can be resolved, and the running agent uses them'),
    ])
    // An agent of an earlier version does not say what it resolved.
    expect(await check(peers, { status: agent(['b', 'b:7400'], ['c', 'c:7400', null]) })).toMatchObject([
      { level: 'ok' },
    ])
  })

  it('names the entry that the agent does not use', async () => {
    const status = agent(['b', '10.0.0.9:7400', '10.0.0.9:7400'])
    expect(await check(peers, { status })).toEqual([
      wrong(
        'b is at b:7400 in the configuration, but the running agent uses 10.0.0.9:7400',
        'correct peers[b] in a.yaml:7:5 if 10.0.0.9:7400 is right; otherwise restart the agent with this configuration',
      ),
      wrong(
        'c at c:7400 is in the configuration, but the running agent does not know it',
        'restart the agent with this configuration, or remove peers[c] in a.yaml:7:5',
      ),
    ])
  })

  it('does not believe an agent that still uses the old address of a name', async () => {
    const status = agent(['b', 'typo:7400', '10.0.0.2:7400'], ['c', 'c:7400', '10.0.0.8:7400'])
    const [name, stale] = await check([peer('b', 'typo'), peer('c', 'c')], { status })
    expect(name?.text).toBe(
      'b: the name typo cannot be resolved (ENOTFOUND); the running agent still sends to 10.0.0.2:7400',
    )
    expect(stale).toMatchObject({
      level: 'error',
      text: 'c: c is 10.0.0.3, fd00::3 for the doctor, but the running agent sends to 10.0.0.8:7400',
      fix: expect.stringMatching(/^run the doctor again after 30 s, .* in peers\[c\] in a\.yaml:7:5$/),
    })
  })

  it('warns of a peer that a restart would forget', async () => {
    const status = agent(['b', 'b:7400'], ['d', '10.0.0.4:7400'])
    expect(await check([peer('b', 'b')], { status })).toEqual([
      {
        area: 'address',
        level: 'warning',
        text: 'the running agent has the peer d at 10.0.0.4:7400, which is not in the configuration',
        fix: 'add it to peers; otherwise the agent forgets it at its next start',
      },
    ])
  })
})
