/** The hosting of epochs: real nodes run the protocol from this value. */
import type { PlainObject } from '../../core/index.ts'
import { assertNoDefect } from '../defect-option.ts'
import { NO_FAST_PROFILE, networkOf, type StoreHosting } from '../hosting.ts'
import { epochsAssumptions } from './assumptions.ts'
import { type OpenState, openEpochs, openInsight } from './open-group.ts'
import { type EpochsOptions, timingInput } from './options.ts'
import { epochsPlanning } from './planning.ts'
import { problemsInHosted, profileOptions } from './profiles.ts'
import { timingOf } from './timing.ts'

const own = (options: PlainObject): EpochsOptions => options as unknown as EpochsOptions
const stateOf = (state: unknown): OpenState => state as OpenState

export const epochsHosting: StoreHosting = {
  name: 'epochs',
  needs: 'store',
  summary: 'election in a store',
  optionsFor({ profile, options = {} }) {
    const network = networkOf(profile)
    if (network === null) return { problems: [NO_FAST_PROFILE] }
    return { options: profileOptions(network, options) }
  },
  problemsWith: problemsInHosted,
  slackOptions: () => ({}),
  leaseLength(options) {
    const { lease, period, access } = timingOf(timingInput(own(options)))
    // A renewal is one write and one round of reads.
    return { lease, margin: lease - period - 2 * access }
  },
  assumptions: epochsAssumptions,
  withoutLease: null,
  recordedOptions: () => ({ members: 'registered' }),
  ownOptions: [],
  forensics: null,
  planning: epochsPlanning,
  create(self, options) {
    assertNoDefect(own(options).misreading)
    return openEpochs(self, [self], own(options))
  },
  insight(state, options) {
    const open = stateOf(state)
    const { writing, time } = open.inner
    return {
      ...openInsight(open, own(options)),
      isReleasing: writing === 'release' || (writing !== null && time?.isLeaving === true),
      removing: time?.removal?.of ?? null,
      fencing: time?.partition.fencing?.token ?? null,
    }
  },
  timing: (options) => timingOf(timingInput(own(options))),
  causes: {
    'its lease ran out': 'expired',
    'it stepped down': 'stepped down',
    'its clock stood still for too long': 'suspended',
  },
}
