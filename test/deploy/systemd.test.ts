/** The systemd units, checked by systemd-analyze. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { CONCLAVE } from '../support/agents.ts'
import { isVariable, unknownFlags } from '../support/command-lines.ts'
import { ROOT } from '../support/documents.ts'
import { describeWithTool } from '../support/servers.ts'

const UNITS = join(ROOT, 'deploy/systemd')
const names = readdirSync(UNITS)

describe.each(names)('deploy/systemd/%s', (name) => {
  const unit = readFileSync(join(UNITS, name), 'utf8').replaceAll('\\\n', ' ')
  const setting = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''

  it('starts conclave with existing flags and variables', () => {
    const words = setting('ExecStart').split(/\s+/)
    expect(words[0]).toBe('/usr/bin/conclave')
    expect(['agent', 'run']).toContain(words[1])
    expect(unknownFlags(words)).toEqual([])
    expect(isVariable(setting('Environment').split('=')[0] ?? '')).toBe(true)
  })

  it('stops in time, and runs without privileges', () => {
    expect(Number(setting('TimeoutStopSec'))).toBeGreaterThan(10)
    expect([setting('DynamicUser'), setting('NoNewPrivileges')]).toEqual(['yes', 'yes'])
    expect(setting('Environment')).toBe('CONCLAVE_KEY_FILE=%d/key')
    expect(setting('LoadCredential')).toMatch(/^key:/)
  })
})

describe('the unit of the agent', () => {
  it('is notified by the agent, which is a grandchild', () => {
    const unit = readFileSync(join(UNITS, 'conclave.service'), 'utf8')
    expect(unit).toMatch(/^Type=notify$/m)
    expect(unit).toMatch(/^NotifyAccess=all$/m)
    expect(unit).toMatch(/^WatchdogSec=[1-9]\d*$/m)
  })
})

await describeWithTool('systemd-analyze', 'systemd-analyze verify', (program) => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-units-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** With the conclave of this checkout, because systemd looks for the program. */
  const verify = (name: string, change: (unit: string) => string = (unit) => unit): string => {
    const file = join(folder, name)
    const unit = readFileSync(join(UNITS, name), 'utf8').replaceAll('/usr/bin/conclave', CONCLAVE)
    writeFileSync(file, change(unit))
    const { status, stdout, stderr } = spawnSync(program, ['verify', '--man=no', file], { encoding: 'utf8' })
    // Warnings about other units of the machine are none of ours.
    const ours = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(name))
    return [...(status === 0 ? [] : [`status ${status}`]), ...ours].join('\n')
  }

  it.each(names)('accepts %s', (name) => {
    expect(verify(name)).toBe('')
  })

  it('would notice a misspelled setting', () => {
    const said = verify('conclave.service', (unit) => unit.replace('WatchdogSec', 'WatchDogSec'))
    expect(said).toMatch(/Unknown key.* 'WatchDogSec'/)
  })
})
