import { z } from 'zod'
import { define, microsOf, millisecondsOr, momentMs, type NodeId, perNode } from '../../core/index.ts'
import { invitation } from './invitation.ts'

function options(nodes: readonly NodeId[]) {
  return z.strictObject({
    policy: z
      .enum(['strict', 'soft'])
      .default('strict')
      .describe('strict: only the higher coordinator invites; soft: as in Garcia-Molina, may never settle'),
    checkPeriodMs: millisecondsOr(600, 'interval of checks for other groups'),
    timeoutPeriodMs: millisecondsOr(400, 'interval at which a member asks whether it is still in the group'),
    queryTimeoutMs: millisecondsOr(50, 'how long to wait for answers to a question; at least two delays'),
    acceptWindowMs: millisecondsOr(
      100,
      'how long an invitation is open; at least three delays, and one timeout per resend but the first',
    ),
    acceptTimeoutMs: millisecondsOr(50, 'how long to wait for the answer to `accept`; at least two delays'),
    readyTimeoutMs: millisecondsOr(50, 'how long to wait for the answer to `ready`; at least two delays'),
    priorityDelayMs: momentMs()
      .default(20)
      .describe('soft: delay per rank between this coordinator and the highest that it found'),
    resends: z.int().min(0).max(20).default(0).describe('how often accept, ready and areYouThere are resent'),
    jitter: z
      .number()
      .min(0)
      .max(0.9)
      .default(0.2)
      .describe('fraction by which each check period is randomly longer or shorter'),
    checkPhaseMs: perNode(nodes, momentMs())
      .default({})
      .describe('per node: time of the first check after its start'),
    counter: z
      .enum(['stable', 'volatile'])
      .default('stable')
      .describe('volatile: a crash resets the counter, so group numbers are used again'),
  })
}

export const invitationDefinition = define({
  name: 'invitation',
  title: 'groups around coordinators, which invite each other into larger groups',
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
        because: 'two queryTimeoutMs, acceptWindowMs and readyTimeoutMs, which it contains',
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

/**
 * By the number of nodes: the longest chain of merges of the strict policy. Found by exhaustive search up to 5 nodes, not
 * proved above.
 */
const LONGEST_CHAIN = [0, 0, 1, 2, 4, 7, 12, 16, 20]
