/** The guarantee card: computed from the times of the links, and checked by simulating them. */
import type { PlainObject } from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import type { HistoryOptions } from '../../links/index.ts'
import type { Chosen } from '../hosting.ts'
import { PROFILES } from '../local-leader/options.ts'
import type { MilestonePlan, Plan, PlanAsked, Planning } from '../planning.ts'
import { omegaGuarantees } from './guarantees.ts'
import { brokenTimes, profileOptions } from './profiles.ts'
import type { OmegaSettings } from './settings.ts'

type Options = HistoryOptions & Pick<OmegaSettings, 'quorum'>

function optionsFor(asked: PlanAsked): Chosen {
  const { mode, profile = 'lan' } = asked
  const given: PlainObject = { ...asked.options, ...asked.chosen }
  const { links = 'datagrams', quorum } = given
  const isLocal = mode === 'local'
  const refuse = (field: string, message: string): Chosen => ({ problems: [{ field, message }] })
  if (links !== 'datagrams')
    return refuse(
      'options.links',
      'the card is that of real processes, whose links go over datagrams: take it out',
    )
  if (mode !== undefined && quorum !== undefined && isLocal !== (quorum === 'none'))
    return refuse(`--mode ${mode}`, 'options.quorum says otherwise: leave one of them out')
  return {
    options: { quorum: isLocal ? 'none' : 'dynamic', ...given, ...profileOptions(profile, given) },
  }
}

/** Datagrams are counted between these numbers of periods. */
const IDLE_PERIODS = 20

const idsOf = (nodes: number): readonly number[] => Array.from({ length: nodes }, (_, place) => place + 1)

function describe({ asked, options }: Plan): MilestonePlan {
  const { profile = 'lan', seeds } = asked
  const nodes = asked.nodes.length
  const chosen = options as unknown as Options
  const { deltaMs, deltaMinMs, sigmaMs } = PROFILES[profile]
  const { quorum, pingMs, alphaMs, timeoutMs, retransmitMs } = chosen
  const assumed = { deltaMs, deltaMinMs, sigmaMs }
  const guarantees = omegaGuarantees(nodes, chosen, chosen, assumed)
  const { datagramsPerSecondPerPair: rate, atOnce, inTurn } = guarantees
  const quiet: PlainObject = { protocol: 'omega', nodes: idsOf(nodes), initial: { leader: 1 }, options }
  return {
    kind: 'milestones',
    card: { protocol: 'omega', nodes, profile, options, seeds, assumed, guarantees },
    seeds,
    /** The leader dies at some moment of its period; delays and lateness come from the seed. */
    run(seed) {
      const faultMs = Math.round(4 * timeoutMs + pingMs * ((seed * 0.618_034) % 1))
      const scenario = {
        ...quiet,
        seed,
        network: { delayMs: [deltaMinMs, deltaMs] },
        clocks: { lateMs: [0, sigmaMs] },
        events: [{ atMs: faultMs, crash: 1 }],
        untilMs: faultMs + 4 * timeoutMs + 20 * deltaMs,
      }
      return { scenario, faultMs }
    },
    milestones:
      atOnce === 0
        ? []
        : [
            {
              name: 'leader dies: all others see it, and promise',
              output: 'promise',
              computed: guarantees.promisedMs,
            },
            {
              name: 'leader dies: all others have the next view',
              output: 'view',
              computed: guarantees.installedMs,
            },
            { name: 'leader dies: the next one acts', output: 'elected', computed: guarantees.actingMs },
          ],
    idle: {
      scenario: (untilMs) => ({ ...quiet, events: [], untilMs }),
      betweenMs: [IDLE_PERIODS * pingMs, 2 * IDLE_PERIODS * pingMs],
      pairs: (nodes * (nodes - 1)) / 2,
      most: rate,
    },
    text: {
      headline: `omega, quorum ${quorum}, profile ${profile}: ${plural(nodes, 'node')}`,
      assumes: [
        `messages take no longer than δ = ${deltaMs} ms, timers fire no later than σ = ${sigmaMs} ms;`,
        `pings every ${pingMs} ms, waited for ${alphaMs} ms, silence borne for ${timeoutMs} ms, frames again after ${retransmitMs} ms.`,
      ],
      tolerance: [`${atOnce} of ${nodes} may fail at once, ${inTurn} one after another (${ruleOf(quorum)}).`],
      idle: (measured) => `${rate.toFixed(2)} datagrams a second a pair, measured ${measured.toFixed(2)}.`,
    },
  }
}

function ruleOf(quorum: OmegaSettings['quorum']): string {
  if (quorum === 'none') return 'every part that is all linked has its own view and leader'
  return quorum === 'static'
    ? 'a view needs a majority of all nodes'
    : 'a view needs a majority of the view before it'
}

export const omegaPlanning: Planning = {
  fields: ['group', 'id', 'profile'],
  leastNodes: 2,
  mostNodes: 50,
  seeds: 200,
  optionsFor,
  problemsWith: (options, { profile = 'lan' }) => brokenTimes(profile, options as unknown as Options),
  describe,
}
