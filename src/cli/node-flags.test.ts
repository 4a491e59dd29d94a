import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { hostedNames } from '../protocols/index.ts'
import {
  addNodeFlags,
  addServiceFlags,
  describeProtocols,
  type NodeFlags,
  readConfig,
  readJoinOptions,
} from './node-flags.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-flags-'))
afterAll(() => rmSync(folder, { recursive: true }))
const keyFile = join(folder, 'key')
writeFileSync(keyFile, 'a key that is long enough for this')

const FLAGS: NodeFlags = {
  group: 'g',
  id: 'a',
  listen: '127.0.0.1:7400',
  peer: ['b=127.0.0.1:7401'],
  keyFile: [keyFile],
  option: [],
}

function config(name: string, content: object): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(content))
  return file
}

const joinOf = (flags: NodeFlags, env: NodeJS.ProcessEnv = {}) => readConfig(flags, env).groups[0]?.join

describe('readConfig', () => {
  it('reads flags, variables and a file, in this order of precedence', () => {
    const file = config('order.json', { priority: 1, sticky: true })
    const all = { ...FLAGS, config: file }
    expect(joinOf(all)).toMatchObject({ group: 'g', id: 'a', priority: 1 })
    expect(joinOf(all, { CONCLAVE_PRIORITY: '2' })).toMatchObject({ priority: 2 })
    expect(joinOf({ ...all, priority: '3' }, { CONCLAVE_PRIORITY: '2' })).toMatchObject({ priority: 3 })
  })

  it('reads the timing and the bounds of leases as numbers', () => {
    const flags = { ...FLAGS, timing: 'adaptive', leaseMinMs: '20', leaseMaxMs: '2000.5' }
    expect(joinOf(flags, { CONCLAVE_LEASE_MIN_MS: '30', CONCLAVE_LEASE_LOSS_PER_DAY: '3' })).toMatchObject({
      timing: 'adaptive',
      leaseMinMs: 20,
      leaseMaxMs: 2000.5,
      leaseLossPerDay: 3,
    })
    expect(joinOf(FLAGS, { CONCLAVE_TIMING: 'fixed', CONCLAVE_PROFILE: 'fast' })).toMatchObject({
      timing: 'fixed',
      profile: 'fast',
    })
  })

  it.each<[Partial<NodeFlags>, RegExp]>([
    [{ leaseMinMs: 'soon' }, /--lease-min-ms: "soon" is not a finite number/],
    [{ leaseMinMs: '7' }, /--lease-min-ms: 7 is too short, .*; use 10 or more/],
    [{ leaseMinMs: '7000' }, /--lease-min-ms: 7000 needs a longest lease of 8750 ms .* set leaseMaxMs, too/],
    [
      { leaseMinMs: '7000', data: '/nowhere' },
      /--lease-min-ms: 7000 is above leaseMaxMs, which is 5000 in the profile lan/,
    ],
    [{ timing: 'sometimes' }, /--timing: "sometimes" is not one of "fixed", "adaptive"/],
    [{ timing: 'adaptive', mode: 'local' }, /timing: adaptive only works with mode: majority/],
  ])('refuses %j, and names the flag', (given, problem) => {
    expect(() => readConfig({ ...FLAGS, ...given }, {})).toThrow(problem)
  })

  it('reads the path of the file from CONCLAVE_CONFIG', () => {
    const file = config('variable.json', { priority: 4 })
    expect(joinOf(FLAGS, { CONCLAVE_CONFIG: file })).toMatchObject({ priority: 4 })
  })

  it.each([
    ['true', true],
    ['no', false],
    ['1', true],
  ])('reads CONCLAVE_WITNESS=%s', (text, isWitness) => {
    expect(readConfig(FLAGS, { CONCLAVE_WITNESS: text }).groups[0]?.node).toMatchObject({
      witness: isWitness,
    })
  })

  it('refuses a variable that is not a boolean, and ignores an empty one', () => {
    // All bad variables at once.
    expect(() => readConfig(FLAGS, { CONCLAVE_OBSERVER: 'maybe', CONCLAVE_PRIORITY: 'x' })).toThrow(
      'CONCLAVE_PRIORITY: "x" is not a finite number\nCONCLAVE_OBSERVER: "maybe" is not true or false',
    )
    expect(() => readConfig(FLAGS, { CONCLAVE_OBSERVER: '' })).not.toThrow()
  })

  it('reads lists from variables, separated by commas or spaces', () => {
    const { peer: _peer, ...rest } = FLAGS
    const env = { CONCLAVE_PEER: 'b=127.0.0.1:7401, c=127.0.0.1:7402' }
    expect(joinOf({ ...rest, peer: [] }, env)).toMatchObject({
      peers: ['b=127.0.0.1:7401', 'c=127.0.0.1:7402'],
    })
  })

  it('names the flag of a wrong value', () => {
    expect(() => readConfig({ ...FLAGS, priority: 'high' }, {})).toThrow(/priority/)
    expect(() => readConfig({ ...FLAGS, option: ['sigmaMs'] }, {})).toThrow(
      '--option sigmaMs: write NAME=VALUE',
    )
  })
})

describe('readJoinOptions', () => {
  it('refuses a file with several groups', () => {
    const { group: _group, ...flags } = FLAGS
    const group = { protocol: 'local-leader' }
    const file = config('groups.json', { groups: { x: group, y: group } })
    vi.stubEnv('CONCLAVE_GROUP', undefined)
    expect(() => readJoinOptions({ ...flags, config: file }, () => {})).toThrow(/--group|group/)
    vi.unstubAllEnvs()
  })

  it('passes the warnings of the configuration on', () => {
    const warnings: string[] = []
    readJoinOptions(FLAGS, (text) => warnings.push(text))
    expect(warnings.map((text) => text.split(':')[0])).toEqual(expect.arrayContaining(['data', 'peers']))
  })
})

describe('the help', () => {
  it('names the variable of every flag', () => {
    const command = addServiceFlags(addNodeFlags(new Command('agent')))
    for (const { long, description } of command.options)
      expect([long, description]).toEqual([long, expect.stringMatching(/ \(env: CONCLAVE_[A-Z_]+\)$/)])
  })

  it('describes every protocol that real processes can run', () => {
    for (const name of hostedNames()) expect(describeProtocols()).toMatch(new RegExp(`\\b${name} \\(.+\\)`))
  })
})
