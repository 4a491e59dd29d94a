/** The guarantee card: bounds computed from the timing of the links, and checked by simulations. */
import type { PlainObject } from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import type { HistoryOptions } from '../../links/index.ts'
import { type Chosen, NO_FAST_PROFILE, networkOf } from '../hosting.ts'
import { PROFILES } from '../local-leader/profiles.ts'
import type { MilestonePlan, Plan, PlanAsked, Planning } from '../planning.ts'
import { computeOmegaGuarantees } from './guarantees.ts'
import { findBrokenTimes, profileOptions } from './profiles.ts'
import type { OmegaSettings } from './settings.ts'

type Options = HistoryOptions & Pick<OmegaSettings, 'quorum'>

function optionsFor(asked: PlanAsked): Chosen {
  const { mode } = asked
  const profile = networkOf(asked.profile)
  if (profile === null) return { problems: [NO_FAST_PROFILE] }
  const given: PlainObject = { ...asked.options, ...asked.chosen }
  const { links = 'datagrams', quorum } = given
  const isLocal = mode === 'local'
  const refuse = (field: string, message: string): Chosen => ({ problems: [{ field, message }] })
  if (links !== 'datagrams')
    return refuse('options.links', 'does not apply to a plan: real nodes always use datagrams; remove it')
  if (mode !== undefined && quorum !== undefined && isLocal !== (quorum === 'none'))
    return refuse(
      `--mode ${mode}`,
      `contradicts options.quorum = ${JSON.stringify(quorum)}; remove one of them`,
    )
  return {
    options: { quorum: isLocal ? 'none' : 'dynamic', ...given, ...profileOptions(profile, given) },
  }
}

/** Datagrams are counted from the end of this number of periods to the end of twice that number. */
const IDLE_PERIODS = 20

const idsOf = (nodes: number): readonly number[] => Array.from({ length: nodes }, (_, place) => place + 1)

function describe({ asked, options }: Plan): MilestonePlan {
  const { seeds } = asked
  const profile = networkOf(asked.profile) ?? 'lan'
  const nodes = asked.nodes.length
  const chosen = options as unknown as Options
  const { deltaMs, deltaMinMs, sigmaMs } = PROFILES[profile]
  const { quorum, pingMs, alphaMs, timeoutMs, retransmitMs } = chosen
  const assumed = { deltaMs, deltaMinMs, sigmaMs }
  const guarantees = computeOmegaGuarantees(nodes, chosen, chosen, assumed)
  const { datagramsPerSecondPerPair: rate, atOnce, inTurn } = guarantees
  const quiet: PlainObject = { protocol: 'omega', nodes: idsOf(nodes), initial: { leader: 1 }, options }
  return {
    kind: 'milestones',
    card: { protocol: 'omega', nodes, profile, options, seeds, assumed, guarantees },
    seeds,
    /** The seed fixes when in its period the leader dies, all delays, and how late timers fire. */
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
              name: 'leader dies: all others promise the next view',
              output: 'promise',
              computed: guarantees.promisedMs,
            },
            {
              name: 'leader dies: all others install the next view',
              output: 'view',
              computed: guarantees.installedMs,
            },
            { name: 'leader dies: the next leader acts', output: 'elected', computed: guarantees.actingMs },
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
        `messages arrive within δ = ${deltaMs} ms; timers fire at most σ = ${sigmaMs} ms late;`,
        `a ping every ${pingMs} ms, overdue after ${alphaMs} ms; a link is down after ${timeoutMs} ms of silence; retransmission after ${retransmitMs} ms.`,
      ],
      tolerance: [
        `${atOnce} of ${nodes} nodes may fail at once, or ${inTurn} one after another (${ruleOf(quorum)}).`,
      ],
      idle: (measured) =>
        `${rate.toFixed(2)} datagrams per second and pair of nodes; measured: ${measured.toFixed(2)}.`,
    },
  }
}

function ruleOf(quorum: OmegaSettings['quorum']): string {
  if (quorum === 'none') return 'every fully linked part has its own view and leader'
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
  problemsWith: (options, { profile }) =>
    findBrokenTimes(networkOf(profile) ?? 'lan', options as unknown as Options),
  describe,
}
