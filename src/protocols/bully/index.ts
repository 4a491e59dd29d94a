/** The definition of bully: its options, commands, promises, and how worlds run it. */
import { z } from 'zod'
import {
  define,
  type Identity,
  microsOf,
  millisecondsOr,
  type NodeId,
  nodeAmong,
  type Stimulus,
  stack,
} from '../../core/index.ts'
import { checkDetector, detectorLayer, detectorOptions, HEARTBEAT, noticedWithin } from '../../links/index.ts'
import { bully } from './bully.ts'
import type { BullyState } from './state.ts'

function options() {
  const fields = z.strictObject({
    answerTimeoutMs: millisecondsOr(200, 'T: how long to wait for an answer; at least two delays'),
    coordinatorTimeoutMs: millisecondsOr(
      500,
      "T': how long to wait for the coordinator; at least T and two delays",
    ),
    repaired: z
      .boolean()
      .default(true)
      .describe('with the rules that the lecture lacks; false: the literal form'),
    ...detectorOptions(),
  })
  return fields.superRefine(checkDetector)
}

type Options = z.infer<ReturnType<typeof options>>

function commands(nodes: readonly NodeId[]) {
  return z.strictObject({ do: z.literal('detect'), of: nodeAmong(nodes) })
}

/** With `detector: none` the world acts as a perfect detector: it reports a failed coordinator eventually. */
function stimuli(state: BullyState, { self }: Identity, { detector }: Options): readonly Stimulus[] {
  if (detector !== 'none' || state.elected === null || state.elected === self) return []
  return [{ command: { do: 'detect', of: state.elected }, whenDown: state.elected, owed: true }]
}

export const bullyDefinition = define({
  name: 'bully',
  title: 'the highest node that is left bullies the others into following it',
  source: 'Franke, Distributed Systems, lecture 11 (Edinburgh 2006); after Garcia-Molina 1982',
  kinds: ['election', 'answer', 'coordinator'],
  linkKinds: [HEARTBEAT],
  prefers: 'highest',
  order: 'fifo',
  options,
  commands,
  promises: ['agreement', 'maximality', 'live-leader'],
  goals: ['elected', 'leader-changed'],
  create(identity, chosen) {
    const protocol = bully(identity, {
      answerTimeout: microsOf(chosen.answerTimeoutMs),
      coordinatorTimeout: microsOf(chosen.coordinatorTimeoutMs),
      repaired: chosen.repaired,
    })
    const layer = detectorLayer(identity, chosen)
    return layer === null ? protocol : stack(layer, protocol)
  },
  stimuli,
  settlesWithin(chosen, maxDelay) {
    // A crash is detected and an election runs. Its winner may crash before it announces itself: one more election.
    const election = microsOf(chosen.answerTimeoutMs + chosen.coordinatorTimeoutMs) + 4 * maxDelay
    return noticedWithin(chosen, maxDelay) + 2 * election
  },
  exploration: {
    from: 'settled',
    options: { detector: 'none' },
    crashes: 1,
    recoveries: 1,
    flips: 0,
    timers: 'quiet',
    progress: true,
  },
  swarm: {
    faults: ['crash', 'pause', 'suspend', 'partition', 'cut', 'cutOneWay'],
    delayMs: [0.2, 20],
    driftPpm: 100,
    options: {
      answerTimeoutMs: [100, 200],
      coordinatorTimeoutMs: [300, 500],
      suspectAfterMs: [150, 300],
      alphaMs: [100, 150],
    },
  },
})
