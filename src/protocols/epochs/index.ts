import { define, type Plain, type Stimulus } from '../../core/index.ts'
import { blockOf, describeBlock, shownBlock } from './block.ts'
import { rulesWith } from './defects.ts'
import { epochs } from './epochs.ts'
import { settlingTime } from './guarantees.ts'
import { openEpochs } from './open-group.ts'
import {
  type EpochsCommand,
  type EpochsOptions,
  epochsCommands,
  epochsOptions,
  timingInput,
} from './options.ts'
import type { EpochsState } from './state.ts'
import { timingOf } from './timing.ts'

/** The commands that a search tries in every state: all ticks within the bounds, stepping down and contending. */
function stimuli(
  { status, ctr, writing }: EpochsState,
  { epochs: most, jumps, releases, turns }: EpochsOptions,
): readonly Stimulus[] {
  if (most === null || writing !== null || status === 'Starting' || status === 'Stopped') return []
  const last = jumps ? most : Math.min(most, ctr + 1)
  const ticks = Array.from({ length: Math.max(0, last - ctr) }, (_, index) =>
    stimulus({ do: 'tick', to: ctr + 1 + index }),
  )
  if (releases && status === 'Leader') return [...ticks, stimulus({ do: 'stepDown' })]
  return turns === 'oracle' && status === 'Suspended' ? [...ticks, stimulus({ do: 'contend' })] : ticks
}

function stimulus(command: EpochsCommand): Stimulus {
  return { command, whenDown: null, owed: false }
}

/** A tombstone for every counter above the last one of the removed node. Real nodes write only the lowest. */
function tombstones(value: Plain, { epochs: most }: EpochsOptions): readonly Plain[] {
  const block = blockOf(value)
  if (block === null || most === null) return []
  return Array.from({ length: Math.max(0, most - block.ctr) }, (_, index) => ({
    ...block,
    ctr: block.ctr + 1 + index,
    bal: 0,
    val: null,
  }))
}

const UNTIMED = ['one-leader-an-epoch', 'epoch-agreement']
const TIMED = [...UNTIMED, 'one-leader', 'tokens', 'live-leader']

export const epochsDefinition = define({
  name: 'epochs',
  title:
    'election in shared memory: at most one leader per epoch under any timing; with a lease, at most one at a time',
  source: 'Dharmadeep & Gopinath, Proactive Leader Election in Asynchronous Shared Memory Systems, 2006',
  kinds: [],
  prefers: 'highest',
  options: epochsOptions,
  commands: epochsCommands,
  promises: TIMED,
  goals: ['elected', 'renewed', 'lost'],
  keeps: ({ clock }) =>
    clock === 'none'
      ? { promises: UNTIMED, goals: ['elected', 'leader-changed'] }
      : { promises: TIMED, goals: ['elected', 'renewed', 'lost'] },
  constants: ({ driftPpm }) => ({ rhoPpm: driftPpm }),
  create: (identity, chosen) => {
    // As a real node does: it starts alone, and learns of the other nodes by the command `members`.
    if (chosen.members === 'registered')
      return openEpochs(identity.self, [identity.self], chosen, rulesWith(chosen.misreading))
    return epochs(identity, {
      timing: chosen.clock === 'none' ? null : timingOf(timingInput(chosen)),
      start: chosen.start,
      order: chosen.turns,
      rules: rulesWith(chosen.misreading),
      ballots: chosen.ballots,
      keepsRead: chosen.keepsRead,
    })
  },
  untimed: (chosen) => ({ ...chosen, clock: 'none' as const }),
  onlyRecorded: ({ members }) => (members === 'registered' ? 'members' : null),
  registers: {
    show: shownBlock,
    model: (chosen) => rulesWith(chosen.misreading).registerModel(chosen),
    deletable: (chosen) => rulesWith(chosen.misreading).deletable(chosen),
    tombstones,
    describe: describeBlock,
  },
  variables: ({ ctr, phase, diskWritten, read }: EpochsState) => ({ ctr, phase, diskWritten, read }),
  stimuli: (state: EpochsState, _identity, chosen) => stimuli(state, chosen),
  bounds: ({ accessMs }, maxDelayMs) => [
    { option: 'accessMs', value: accessMs, least: maxDelayMs, because: 'one access to a register' },
  ],
  settlesWithin: (chosen, _maxDelay, nodes) => settlingTime(chosen, nodes),
  exploration: {
    from: 'boot',
    options: { clock: 'none', epochs: 2, ballots: 3 },
    crashes: Number.POSITIVE_INFINITY,
    recoveries: Number.POSITIVE_INFINITY,
    timers: 'any',
  },
  swarm: {
    faults: ['crash', 'pause', 'suspend', 'late', 'hang'],
    delayMs: [0.2, 5],
    driftPpm: 1000,
    commands: [{ do: 'stepDown' }],
    options: { start: ['stamps', 'simple'], turns: ['succession', 'oracle', 'none'] },
  },
})
