/**
 * What real processes need to run seniority. This folder is all that there is of the protocol: `--load` this file.
 *
 * @import { Identity, Plain, PlainObject, Protocol } from 'conclave/core'
 * @import { PeerHosting, Planning, TrialPlan, WireFormat } from 'conclave/protocols'
 * @import { Options, State } from './rules.mjs'
 */
import { microsOf, msOf } from 'conclave/core'
import { readFlag, readOptional, writeFlag, writeOptional } from 'conclave/protocols'
import { NAME, seniority } from './rules.mjs'

export { protocol } from './rules.mjs'

/** Messages take no longer; `conclave plan` simulates delays up to it. */
const DELTA_MS = 5
/** How far clocks drift, with a reserve. */
const DRIFT = 1.001

const own = (/** @type {PlainObject} */ options) => /** @type {Options} */ (/** @type {unknown} */ (options))

/** @type {WireFormat} */
const wire = {
  layouts: [
    {
      kind: 'alive',
      write(writer, message) {
        const { term, willing, token } = /** @type {Pick<State, 'term' | 'willing' | 'token'>} */ (message)
        writer.u53(term)
        writeFlag(writer, willing)
        writeOptional(writer, token, (value) => writer.u53(value))
      },
      read: (reader) => ({
        kind: 'alive',
        term: reader.u53(),
        willing: readFlag(reader),
        token: readOptional(reader, () => reader.u53()),
      }),
    },
  ],
  fault({ kind, term, token }) {
    if (kind !== 'alive') return null
    return token === null || Number(token) <= Number(term) ? null : 'alive.token: must not be above the term'
  },
}

/** @type {Planning} */
const planning = {
  fields: [],
  leastNodes: 2,
  mostNodes: 20,
  seeds: 200,
  optionsFor: ({ options, chosen }) => ({ options: { ...options, ...chosen } }),
  problemsWith: () => [],
  describe({ asked: { nodes }, options }) {
    const { periodMs, patienceMs } = own(options)
    const worst = microsOf((DELTA_MS + patienceMs + periodMs) * DRIFT)
    const perSecond = (nodes.length * (nodes.length - 1) * 1000) / periodMs
    const world = {
      nodes,
      options,
      delaysMs: /** @type {const} */ ([[0.1, DELTA_MS]]),
      latenessMs: /** @type {const} */ ([0]),
      loss: 0,
      driftPpm: 100,
      calm: /** @type {const} */ ([microsOf(3 * patienceMs), microsOf(4 * patienceMs)]),
      watched: 3 * worst,
    }
    /** @type {TrialPlan} */
    const plan = {
      kind: 'trials',
      card: { protocol: NAME, nodes },
      tolerance: { spare: Math.ceil(nodes.length / 2) - 1 },
      trials: [
        {
          name: 'crash',
          what: 'the leader crashes',
          share: 1,
          settings: world,
          fault: (leader) => ({ events: [{ crash: leader }], among: nodes.filter((id) => id !== leader) }),
          restoredWithin: worst,
          stoppedWithin: null,
        },
      ],
      steady: { ...world, watched: microsOf(100 * periodMs) },
      figures: [
        {
          name: 'fail-over',
          title: 'leader crashes: another leads',
          computed: { typical: microsOf(patienceMs), worst },
          usual: null,
          worst: { trials: ['crash'], of: 'restored' },
        },
      ],
      mayBeIdle: false,
      bounds: { failOver: worst, leaseEnd: microsOf(patienceMs * DRIFT), silence: 0 },
      load: {
        field: 'traffic',
        measure({ micros, kinds }) {
          const measured = ((kinds['alive']?.count ?? 0) * 1_000_000) / micros
          const exceeded = measured > 1.02 * perSecond
          return {
            card: { computedPerSecond: perSecond, measuredPerSecond: measured },
            exceeded: exceeded ? ['traffic'] : [],
            rows: [{ cells: ['alive', perSecond.toFixed(1), measured.toFixed(1)], exceeded }],
          }
        },
      },
      text: {
        headline: `${NAME}: ${nodes.length} nodes`,
        assumes: [`messages take at most ${DELTA_MS} ms`],
        broken: [],
        advice: [],
        worlds: ['usual', 'worst'],
        worldsMean: `worst: delays up to ${DELTA_MS} ms`,
        overlap: ['not zero: two nodes may lead for a moment'],
        leaderWords: 'a leader within',
        stoppedWords: 'and the old leader has stopped after',
        shapesMean: [],
        tolerance: ['a minority of the nodes may fail'],
        loadTitle: 'Messages per second',
        loadMeans: [`fail-over takes ${msOf(worst)} ms at most`],
      },
    }
    return plan
  },
}

/** @type {PeerHosting} */
export const hosting = {
  name: NAME,
  needs: 'peers',
  summary: 'the lowest id that hears a majority leads; for tests',
  optionsFor: ({ options = {} }) => ({ options: /** @type {PlainObject} */ ({ ...options }) }),
  problemsWith: (options) =>
    own(options).patienceMs > 2 * own(options).periodMs
      ? []
      : [{ field: 'options.patienceMs', message: 'must be more than twice options.periodMs' }],
  slackOptions: () => ({}),
  leaseLength: (options) => {
    const { periodMs, patienceMs } = own(options)
    return { lease: microsOf(patienceMs), margin: microsOf(patienceMs - periodMs) }
  },
  withoutLease: `${NAME} gives no lease: two nodes may lead for a moment`,
  recordedOptions: () => ({}),
  ownOptions: [],
  forensics: null,
  planning,
  wire,
  fixedNodes: null,
  listsRoles: false,
  group: (identity, options) => ({
    protocol: seniority(identity, own(options)),
    kinds: ['alive'],
    nodes: identity.nodes,
    agreed: { protocol: NAME, ...options },
    terms: {
      leastDelay: 0,
      fast: microsOf(own(options).patienceMs),
      rho: 0.0001,
      stampAge: microsOf(10_000),
    },
    slack: microsOf(own(options).periodMs / 10),
    adopt: (state) => /** @type {PlainObject} */ (state),
  }),
  insight(identity, options, plain, now) {
    const state = /** @type {State} */ (/** @type {unknown} */ (plain))
    const lasts = microsOf(own(options).patienceMs)
    const alive = state.peers.filter(({ at }) => now < at + lasts)
    const { leader, until } = seniority(identity, own(options)).view(state, now)
    const seen = alive.find(({ id }) => id === leader)
    return {
      leadUntil: until ?? (seen === undefined ? null : seen.at + lasts),
      voters: [identity.nodes],
      named: identity.nodes,
      heard: alive.map(({ id }) => id),
      evidence: { of: alive.map(({ id, at }) => ({ id, at })), lasts },
      silentUntil: null,
      membership: null,
    }
  },
  modeOf: () => 'majority',
  forgetfulStable: () => null,
  recovery: null,
}
