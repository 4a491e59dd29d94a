import { z } from 'zod'
import { define, microsOf, millisecondsOr, momentMs, type NodeId, perNode } from '../../core/index.ts'
import { invitation } from './invitation.ts'

function options(nodes: readonly NodeId[]) {
  return z.strictObject({
    policy: z
      .enum(['strict', 'soft'])
      .default('strict')
      .describe('strict: only the higher invites; soft: as Garcia-Molina has it, which may never settle'),
    checkPeriodMs: millisecondsOr(600, 'time between checks for other groups'),
    timeoutPeriodMs: millisecondsOr(400, "time between a member's questions whether it still belongs"),
    queryTimeoutMs: millisecondsOr(50, 'how long to wait for the answers to a question; two delays'),
    acceptWindowMs: millisecondsOr(
      100,
      'how long an invitation stands; three delays, and one timeout for each resend but the first',
    ),
    acceptTimeoutMs: millisecondsOr(50, 'how long to wait for the answer to `accept`; two delays'),
    readyTimeoutMs: millisecondsOr(50, 'how long to wait for the answer to `ready`; two delays'),
    priorityDelayMs: momentMs()
      .default(20)
      .describe('soft: waited for each place by which a higher coordinator ranks above'),
    resends: z
      .int()
      .min(0)
      .max(20)
      .default(0)
      .describe('how often accept, ready and areYouThere are repeated'),
    jitter: z.number().min(0).max(0.9).default(0.2).describe('part of the check period by which it varies'),
    checkPhaseMs: perNode(nodes, momentMs())
      .default({})
      .describe('when the first check of some nodes is, after their start'),
    counter: z
      .enum(['stable', 'volatile'])
      .default('stable')
      .describe('volatile: group numbers are forgotten in a crash, and used again'),
  })
}

export const invitationDefinition = define({
  name: 'invitation',
  title: 'groups around coordinators that invite each other into larger ones',
  source: 'Garcia-Molina 1982; Stoller, Leader Election in Asynchronous Distributed Systems, 1999',
  kinds: [
    'areYouCoordinator',
    'areYouThere',
    'invitation',
    'accept',
    'ready',
    'answer',
    'reply',
    'replyThere',
  ],
  prefers: 'highest',
  order: 'any',
  options,
  commands: () => z.strictObject({ do: z.literal('check') }),
  promises: ['assertion-3', 'group-numbers', "assertion-4'", 'independent-leaders', 'settles'],
  goals: ['elected', 'leader-changed'],
  create(identity, chosen) {
    const phase = chosen.checkPhaseMs[String(identity.self)]
    return invitation(identity, {
      policy: chosen.policy,
      checkPeriod: microsOf(chosen.checkPeriodMs),
      timeoutPeriod: microsOf(chosen.timeoutPeriodMs),
      queryTimeout: microsOf(chosen.queryTimeoutMs),
      acceptWindow: microsOf(chosen.acceptWindowMs),
      acceptTimeout: microsOf(chosen.acceptTimeoutMs),
      readyTimeout: microsOf(chosen.readyTimeoutMs),
      priorityDelay: microsOf(chosen.priorityDelayMs),
      resends: chosen.resends,
      jitter: chosen.jitter,
      checkPhase: phase === undefined ? null : microsOf(phase),
      stableCounter: chosen.counter === 'stable',
    })
  },
  bounds(chosen, maxDelayMs) {
    const { queryTimeoutMs, acceptTimeoutMs, readyTimeoutMs, acceptWindowMs, checkPeriodMs, resends } = chosen
    const pair = 2 * maxDelayMs
    const because = 'two delays: a message and its answer'
    return [
      { option: 'queryTimeoutMs', value: queryTimeoutMs, least: pair, because },
      { option: 'acceptTimeoutMs', value: acceptTimeoutMs, least: pair, because },
      { option: 'readyTimeoutMs', value: readyTimeoutMs, least: pair, because },
      {
        option: 'acceptWindowMs',
        value: acceptWindowMs,
        least: 3 * maxDelayMs + Math.max(0, resends - 1) * acceptTimeoutMs,
        because: 'three delays (invite, forward, accept) and acceptTimeoutMs for each resend but the first',
      },
      {
        option: 'checkPeriodMs',
        value: checkPeriodMs,
        least: 2 * queryTimeoutMs + acceptWindowMs + readyTimeoutMs,
        because: 'what it must contain: two queryTimeoutMs, acceptWindowMs and readyTimeoutMs',
      },
    ]
  },
  settlesWithin(chosen, maxDelay, nodes) {
    const tries = chosen.resends + 1
    const noticed = microsOf(chosen.timeoutPeriodMs + tries * chosen.queryTimeoutMs)
    const ending = microsOf(chosen.acceptWindowMs + tries * chosen.readyTimeoutMs)
    const round =
      microsOf(chosen.checkPeriodMs * (1 + chosen.jitter)) + microsOf(chosen.queryTimeoutMs) + ending
    const merges = LONGEST_CHAIN[Math.min(nodes, LONGEST_CHAIN.length - 1)] ?? 1
    const waiting = chosen.policy === 'soft' ? microsOf(chosen.priorityDelayMs) * nodes : 0
    return noticed + ending + (merges + 1) * (round + noticed + waiting) + 6 * maxDelay
  },
  exploration: { from: 'boot', timers: 'quiet' },
  swarm: {
    faults: ['crash', 'pause', 'partition', 'cut', 'graph', 'loss', 'duplicate'],
    delayMs: [0.2, 15],
    options: { resends: [0, 1], acceptWindowMs: [100], checkPeriodMs: [400, 600] },
  },
})

/** The longest chain of merges of the strict policy among so many nodes, as found by exhaustive search up to 5. */
const LONGEST_CHAIN = [0, 0, 1, 2, 4, 7, 12, 16, 20]
