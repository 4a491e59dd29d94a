import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { present } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { type ExploreFlags, readExploreRequest } from './request.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-explore-'))
afterAll(() => rmSync(folder, { recursive: true }))

const FLAGS: ExploreFlags = {
  protocol: 'bully',
  nodes: '3',
  option: [],
  maxStates: '1000',
  memory: '100',
  only: [],
  spec: [],
  progress: true,
}
const read = (flags: Partial<ExploreFlags> = {}) =>
  readExploreRequest({ ...FLAGS, ...flags }, { lookup: catalogue, specsFor: () => ({}) })

function scenario(name: string, content: object): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(content))
  return file
}

describe('readExploreRequest', () => {
  it("uses the protocol's own bounds by default", () => {
    const { exploration, order } = present(catalogue.find('bully'), 'bully')
    const { crashes, recoveries, flips, ticks } = exploration
    expect(read()).toMatchObject({
      nodes: [1, 2, 3],
      budget: { crashes, recoveries, flips, ticks },
      from: exploration.from,
      timers: exploration.timers,
      order,
      maxStates: 1000,
      memoryMB: 100,
    })
    expect(read()).not.toHaveProperty('specs')
  })

  it('overrides bounds by flags', () => {
    const flags = { crashes: '0', flips: '2', order: 'any', timers: 'quiet', from: 'boot', depth: '9' }
    expect(read(flags)).toMatchObject({
      budget: { crashes: 0, flips: 2 },
      order: 'any',
      timers: 'quiet',
      from: 'boot',
      depth: 9,
    })
    expect(read({ progress: false }).progress).toBe(false)
    expect(read({ members: '2, 3' })).toMatchObject({ members: [2, 3] })
    expect(read({ option: ['repaired=false'] }).options).toMatchObject({ repaired: false })
  })

  it('checks only the specifications of --only, or adds those of --spec', () => {
    const names = (flags: Partial<ExploreFlags>) => read(flags).specs?.map(({ name }) => name)
    expect(names({ only: ['agreement'] })).toEqual(['agreement'])
    const promised = present(catalogue.find('bully'), 'bully').promises
    expect(names({ spec: ['one-leader'] })).toEqual([...promised, 'one-leader'])
  })

  it('starts after the schedule of a scenario', () => {
    const schedule = [{ do: 'crash', node: 3 }]
    const after = scenario('after.json', { protocol: 'bully', nodes: [1, 2, 3], schedule })
    expect(read({ after })).toMatchObject({ after: schedule })
  })

  it.each<[string, Partial<ExploreFlags>, string]>([
    ['too many nodes', { nodes: '17' }, '--nodes 17: at most 16 nodes can be explored'],
    ['ticks without a length', { ticks: '1' }, '--ticks 1: bully does not define the length of a tick'],
    ['an unknown member', { members: '2,9' }, '--members 2,9: write different ids from 1,2,3'],
    ['a repeated member', { members: '2,2' }, '--members 2,2: write different ids from 1,2,3'],
    ['an unknown specification', { only: ['peace'] }, '--only peace: unknown specification; use one of'],
    ['an unknown start', { from: 'noon' }, '--from noon: must be one of boot, settled'],
  ])('refuses %s', (_what, flags, message) => {
    expect(() => read(flags)).toThrow(message)
  })

  it.each<[string, object, string]>([
    ['another protocol', { protocol: 'ring', schedule: [] }, 'protocol must be bully, not ring'],
    ['other nodes', { nodes: [1, 2], schedule: [] }, 'nodes must be 1, 2, 3, as in --nodes'],
    ['no schedule', { untilMs: 10 }, 'schedule is missing'],
  ])('refuses to start after a scenario with %s', (_what, fields, message) => {
    const after = scenario('bad.json', { protocol: 'bully', nodes: [1, 2, 3], ...fields })
    expect(() => read({ after })).toThrow(`--after ${after}: ${message}`)
  })

  it.each<[keyof ExploreFlags, string]>([
    ['protocol', 'explore needs --protocol NAME'],
    ['nodes', 'explore needs --nodes N'],
  ])('refuses flags without --%s', (name, message) => {
    const { [name]: _omitted, ...flags } = FLAGS
    const protocols = { lookup: catalogue, specsFor: () => ({}) }
    expect(() => readExploreRequest(flags as ExploreFlags, protocols)).toThrow(message)
  })
})
