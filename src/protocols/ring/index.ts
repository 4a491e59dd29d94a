import { z } from 'zod'
import { define, microsOf, millisecondsOr, type NodeId, perNode, stack } from '../../core/index.ts'
import { carriedKind, carriedMessages, RELIABLE_KINDS, reliableLinks } from '../../links/index.ts'
import { MISREADINGS, rulesWith } from './defects.ts'
import { type RingState, ring } from './ring.ts'
import { tolerantRing } from './tolerant.ts'

/** A load is any finite number that is not negative; 0 is the most eligible. */
const load = z.number().min(0)

function options(nodes: readonly NodeId[]) {
  const written = z.strictObject({
    loads: perNode(nodes, load)
      .default({})
      .describe('load per node (default 0): the least loaded node is elected, then the highest id'),
    faultTolerant: z.boolean().default(false).describe('with acknowledged hops, epochs and probes'),
    hopTimeoutMs: millisecondsOr(
      100,
      'fault tolerant: silence after which a successor is skipped; at least two delays',
    ),
    probeMs: millisecondsOr(200, 'fault tolerant: interval at which followers probe the leader'),
    reliable: z.boolean().default(false).describe('over a layer that makes lossy links reliable and ordered'),
    retransmitMs: millisecondsOr(50, 'reliable: time after which an unacknowledged message is sent again'),
    misreading: z
      .enum(MISREADINGS)
      .default('none')
      .describe('runs the protocol with a known defect of the text, so that tests can catch it'),
  })
  return written.superRefine(({ faultTolerant, reliable, misreading }, context) => {
    if (!faultTolerant) return
    const idle = reliable ? 'reliable' : misreading === 'none' ? null : 'misreading'
    const message = 'cannot be combined with faultTolerant; remove one of them'
    if (idle !== null) context.addIssue({ code: 'custom', path: [idle], message })
  })
}

type Options = z.infer<ReturnType<typeof options>>

function commands() {
  return z.discriminatedUnion('do', [
    z.strictObject({ do: z.literal('start') }),
    z.strictObject({ do: z.literal('setLoad'), load }),
  ])
}

/** Once around the ring with a timeout at every hop, and the result around it again. */
function electionTime({ hopTimeoutMs }: Options, nodes: number): number {
  return microsOf(hopTimeoutMs) * (2 * nodes + 2)
}

const TOLERATED = ['crash', 'pause', 'loss'] as const
const MASKED = ['pause', 'cut', 'partition', 'loss', 'duplicate'] as const

export const ringDefinition = define({
  name: 'ring',
  title: 'the largest identifier goes around the ring and returns to its owner',
  source: 'Franke, Distributed Systems, lecture 11 (Edinburgh 2006); Chang and Roberts 1979',
  kinds: ['election', 'elected'],
  linkKinds: [...RELIABLE_KINDS, 'nack', 'ping', 'pong', 'hello'],
  kindOf: carriedKind,
  carried: (body) => carriedMessages(body),
  prefers: 'highest',
  order: 'fifo',
  leastNodes: 2,
  options,
  commands,
  promises: ['ring-safety', 'ring-liveness'],
  goals: ['elected'],
  create(identity, chosen) {
    const own = chosen.loads[String(identity.self)] ?? 0
    if (!chosen.faultTolerant) {
      const plain = ring(identity, { load: own, rules: rulesWith(chosen.misreading) })
      if (!chosen.reliable) return plain
      return stack(reliableLinks(identity, { retransmitAfter: microsOf(chosen.retransmitMs) }), plain)
    }
    return tolerantRing(identity, own, {
      hopTimeout: microsOf(chosen.hopTimeoutMs),
      electionTimeout: electionTime(chosen, identity.nodes.length),
      probeEvery: microsOf(chosen.probeMs),
    })
  },
  bounds({ faultTolerant, hopTimeoutMs }, maxDelayMs) {
    if (!faultTolerant) return []
    const because = 'two delays: a message and its acknowledgement'
    return [{ option: 'hopTimeoutMs', value: hopTimeoutMs, least: 2 * maxDelayMs, because }]
  },
  settlesWithin(chosen, maxDelay, nodes) {
    const round = (nodes + 1) * maxDelay
    if (chosen.reliable) return 4 * round + 4 * nodes * microsOf(chosen.retransmitMs)
    if (!chosen.faultTolerant) return 4 * round
    return 3 * microsOf(chosen.probeMs) + 3 * electionTime(chosen, nodes) + 4 * round
  },
  exploration: { from: 'boot', crashes: 0, recoveries: 0, timers: 'quiet', progress: false },
  stimuli: (state: RingState, _identity, { faultTolerant, reliable }) =>
    faultTolerant || reliable || state.participant || state.elected !== null
      ? []
      : [{ command: { do: 'start' }, whenDown: null, owed: false }],
  bears: ({ faultTolerant, reliable }) => (faultTolerant ? TOLERATED : reliable ? MASKED : []),
  swarm: { faults: [...new Set([...TOLERATED, ...MASKED])], commands: [{ do: 'start' }] },
})
