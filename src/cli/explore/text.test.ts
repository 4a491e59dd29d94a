import { describe, expect, it } from 'vitest'
import { exploring } from '../../../test/support/run.ts'
import type { ScheduleStep } from '../../workbench/sim/index.ts'
import { NEW_LINE } from '../output.ts'
import { describeStep, formatExploreReport } from './text.ts'

describe('describeStep', () => {
  it.each<[ScheduleStep, string]>([
    [{ do: 'deliver', node: 1, from: 2 }, '1 receives the next message from 2'],
    [{ do: 'deliver', node: 1, from: 2, nth: 1 }, '1 receives the message number 2 from 2'],
    [{ do: 'timer', node: 1, name: 'answer' }, '1: timer answer fires'],
    [
      { do: 'timer', node: 1, name: 'answer', crashAfter: 2 },
      '1: timer answer fires, and crashes after 2 of its effects',
    ],
    [
      { do: 'command', node: 2, command: { do: 'detect', of: 3 } },
      '2 receives the command {"do":"detect","of":3}',
    ],
    [{ do: 'crash', node: 3 }, '3 crashes'],
    [{ do: 'recover', node: 3 }, '3 recovers'],
    [
      { do: 'write', node: 1, late: true },
      '1 writes its register, crashes, and the write takes effect later',
    ],
    [{ do: 'read', node: 1, of: 2, nth: 1 }, '1 reads the register of 2 (possible value number 2)'],
    [{ do: 'land', node: 1 }, 'the late write of 1 takes effect'],
    [{ do: 'cut', node: 1, peer: 2 }, 'the link between 1 and 2 is cut'],
    [{ do: 'heal', node: 1, peer: 2 }, 'the link between 1 and 2 is healed'],
    [{ do: 'tick' }, 'the clock ticks'],
  ])('describes %j', (step, text) => {
    expect(describeStep(step)).toBe(text)
  })
})

describe('formatExploreReport', () => {
  it('prints the size of a complete search, and no counterexample', () => {
    const report = exploring('bully', 3)
    const lines = formatExploreReport(report).split(NEW_LINE)
    expect(lines.find((line) => line.startsWith('states'))).toMatch(/^states +477$/)
    expect(lines).toContainEqual(expect.stringMatching(/^search +complete: all states within the bounds/))
    expect(lines.filter((line) => line.startsWith('goal ')).every((line) => line.endsWith(' reached'))).toBe(
      true,
    )
    expect(lines.join('\n')).not.toContain('to replay it')
  })

  it('prints the steps of the counterexample and its scenario', () => {
    const report = exploring('bully', 3, { options: { repaired: false } })
    const lines = formatExploreReport(report).split(NEW_LINE)
    const steps = report.counterexample?.steps ?? []
    const at = lines.findIndex((line) => line.endsWith(`is violated in ${steps.length} steps:`))
    expect(lines.slice(at + 1, at + 1 + steps.length)).toEqual(
      steps.map((step, index) => `  ${String(index + 1).padStart(3)}  ${describeStep(step)}`),
    )
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(report.counterexample?.scenario)
  })
})
