import { z } from 'zod'
import { define, microsOf, millisecondsOr } from '../../core/index.ts'
import { bullyGm } from './bully-gm.ts'
import { MISREADINGS, rulesWith } from './defects.ts'

function options() {
  return z.strictObject({
    timeoutMs: millisecondsOr(100, 'T: silence that proves a crash; at least two delays'),
    periodMs: millisecondsOr(500, 'time between checks of the coordinator, and of the others'),
    misreading: z
      .enum(MISREADINGS)
      .default('none')
      .describe('runs the protocol with a known defect, so that tests can catch it'),
  })
}

export const bullyGmDefinition = define({
  name: 'bully-gm',
  title: "Garcia-Molina's bully: halt all lower nodes, appoint oneself coordinator, then distribute the task",
  source: 'Garcia-Molina, Elections in a Distributed Computing System, IEEE ToC C-31(1), 1982',
  kinds: ['areYouUp', 'areYouNormal', 'halt', 'newCoordinator', 'ready', 'answer'],
  prefers: 'highest',
  order: 'fifo',
  options,
  commands: () => z.strictObject({ do: z.literal('election') }),
  promises: ['assertion-1', 'assertion-2'],
  goals: ['elected', 'leader-changed'],
  create: (identity, { timeoutMs, periodMs, misreading }) =>
    bullyGm(identity, { timeout: microsOf(timeoutMs), period: microsOf(periodMs) }, rulesWith(misreading)),
  bounds: ({ timeoutMs, periodMs }, maxDelayMs) => [
    {
      option: 'timeoutMs',
      value: timeoutMs,
      least: 2 * maxDelayMs,
      because: 'two delays: a question and its answer',
    },
    {
      option: 'periodMs',
      value: periodMs,
      least: timeoutMs,
      because: 'timeoutMs: a check must end before the next',
    },
  ],
  settlesWithin: ({ timeoutMs, periodMs }, maxDelay, nodes) =>
    3 * microsOf(periodMs) + (4 * nodes + 4) * microsOf(timeoutMs) + 10 * maxDelay,
  exploration: { from: 'settled', timers: 'quiet' },
  swarm: { faults: ['crash'], delayMs: [0.2, 20], options: { timeoutMs: [60, 100], periodMs: [300, 500] } },
})
