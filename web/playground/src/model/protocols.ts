/**
 * The protocols that a reader can choose, each with a world to begin with: those of the package, and the forms in which
 * papers printed them or readers misread them.
 */
import type { ProtocolCard, ScenarioFile } from './types.ts'

const THREE = [1, 2, 3]
const FIVE = [1, 2, 3, 4, 5]
const LAN = { delayMs: [0.5, 2] }
const DRIFT = { driftPpm: 100 }

function card(name: string, title: string, summary: string, scenario: ScenarioFile): ProtocolCard {
  return { name, title, summary, isPrinted: false, scenario }
}

function printed(name: string, title: string, summary: string, scenario: ScenarioFile): ProtocolCard {
  return { name, title, summary, isPrinted: true, scenario }
}

const INVITATION = { checkPeriodMs: 600, timeoutPeriodMs: 400 }
const ISOLATE_1 = {
  atMs: 20,
  cut: [
    [1, 2],
    [1, 3],
    [1, 4],
  ],
}
const RING_STARTS = THREE.map((node) => ({ atMs: 0, command: { node, do: 'start' } }))

export const PROTOCOLS: readonly ProtocolCard[] = [
  card(
    'local-leader',
    'Leases and locks',
    'One leader at a time, by leases on clocks that drift; the default of Conclave.',
    {
      protocol: 'local-leader',
      nodes: FIVE,
      network: LAN,
      clocks: DRIFT,
      untilMs: 3000,
    },
  ),
  card(
    'local-leader-partitions',
    'Leases, one leader per partition',
    'Each side of a partition has its own leader.',
    {
      protocol: 'local-leader',
      nodes: FIVE,
      options: { mode: 'local' },
      network: LAN,
      clocks: DRIFT,
      untilMs: 3000,
    },
  ),
  card(
    'omega',
    'Omega+ views',
    'Numbered views of the living nodes, and a leader once all members of a view agree.',
    {
      protocol: 'omega',
      nodes: FIVE,
      initial: { leader: 1 },
      network: LAN,
      untilMs: 5000,
    },
  ),
  card(
    'epochs',
    'Epochs in shared registers',
    'The nodes exchange no messages: they elect by writing blocks to a store.',
    {
      protocol: 'epochs',
      nodes: THREE,
      clocks: { driftPpm: 500 },
      untilMs: 3000,
    },
  ),
  card(
    'recovery',
    'Fault recovery',
    'A manager resumes the jobs of dead nodes from checkpoints in erasure-coded columns.',
    {
      protocol: 'recovery',
      nodes: FIVE,
      network: LAN,
      untilMs: 8000,
    },
  ),
  card('bully', 'Bully', 'The highest node that is left makes the others follow it.', {
    protocol: 'bully',
    nodes: FIVE,
    network: LAN,
    initial: { leader: 5 },
    untilMs: 3000,
  }),
  card(
    'bully-gm',
    'Bully of Garcia-Molina',
    'A node halts all lower nodes, appoints itself, and then distributes the task.',
    {
      protocol: 'bully-gm',
      nodes: THREE,
      network: { delayMs: [1, 10] },
      initial: { leader: 3 },
      untilMs: 4000,
    },
  ),
  card(
    'invitation',
    'Invitation',
    'Groups around coordinators, which invite each other into larger groups.',
    {
      protocol: 'invitation',
      nodes: FIVE,
      options: INVITATION,
      network: { delayMs: [2, 10] },
      untilMs: 6000,
    },
  ),
  card('ring', 'Ring', 'The largest identifier goes around the ring and returns to its owner.', {
    protocol: 'ring',
    nodes: THREE,
    network: { delayMs: 10 },
    events: RING_STARTS,
    untilMs: 300,
  }),
  card(
    'ring-tolerant',
    'Ring with crashes',
    'The ring with acknowledged hops, so that an election survives a crash.',
    {
      protocol: 'ring',
      nodes: [1, 2, 3, 4],
      options: { faultTolerant: true },
      network: { delayMs: 10 },
      events: [{ atMs: 10, command: { node: 1, do: 'start' } }],
      untilMs: 3000,
    },
  ),
  card('gamma', 'Gamma', 'A candidate leads once all other nodes have accepted it; without failures.', {
    protocol: 'gamma',
    nodes: [1, 2, 3, 4],
    network: { delayMs: [5, 20] },
    events: [
      { atMs: 10, command: { node: 3, do: 'wake' } },
      { atMs: 15, command: { node: 2, do: 'wake' } },
    ],
    untilMs: 300,
  }),
  printed('phi', 'Phi, as printed', 'The least survivor leads once all survivors agree on who has failed.', {
    protocol: 'phi',
    nodes: [1, 2, 3, 4],
    initial: { leader: 1 },
    network: { delayMs: [1, 3] },
    events: [ISOLATE_1],
    untilMs: 200,
  }),
  printed('psi', 'Psi, as printed', 'Phi with recoveries.', {
    protocol: 'psi',
    nodes: [1, 2, 3, 4],
    initial: { leader: 1 },
    network: { delayMs: [1, 3] },
    events: [ISOLATE_1],
    untilMs: 200,
  }),
  printed(
    'omega-printed',
    'Omega, as printed',
    'Psi with cancels: an accept may count for a candidacy that it never saw.',
    {
      protocol: 'omega-printed',
      nodes: [1, 2, 3, 4],
      initial: { leader: 1 },
      network: { delayMs: [1, 3] },
      events: [ISOLATE_1],
      untilMs: 300,
    },
  ),
  printed(
    'bully-printed',
    'Bully, as in the lecture',
    'Without the repairs: two coordinators can cross and leave a node with the wrong one.',
    {
      protocol: 'bully',
      nodes: THREE,
      options: { repaired: false },
      network: LAN,
      initial: { leader: 3 },
      untilMs: 3000,
    },
  ),
  printed(
    'bully-gm-misread',
    'Garcia-Molina, misread',
    'A node obeys every halt, also one of a lower node.',
    {
      protocol: 'bully-gm',
      nodes: THREE,
      options: { misreading: 'obey-last-halt' },
      network: { delayMs: [1, 10] },
      initial: { leader: 3 },
      untilMs: 4000,
    },
  ),
  printed(
    'invitation-soft',
    'Invitation, soft policy',
    'Every coordinator invites: groups may merge and break for ever.',
    {
      protocol: 'invitation',
      nodes: FIVE,
      options: { ...INVITATION, policy: 'soft' },
      network: { delayMs: [2, 10] },
      untilMs: 6000,
    },
  ),
  printed(
    'local-leader-release',
    'Leases, released early',
    'A failed renewal releases locks that still protect the lease.',
    {
      protocol: 'local-leader',
      nodes: THREE,
      options: { misreading: 'release-while-leader' },
      network: LAN,
      untilMs: 3000,
    },
  ),
  printed('local-leader-suspend', 'Leases, suspension ignored', 'A node trusts a clock that stood still.', {
    protocol: 'local-leader',
    nodes: THREE,
    options: { misreading: 'no-suspend-check' },
    network: { delayMs: 1 },
    untilMs: 2000,
  }),
  printed(
    'epochs-no-start',
    'Epochs without a start',
    'A new leader acts at once, without waiting for the lease before its own.',
    {
      protocol: 'epochs',
      nodes: [1, 2],
      options: { start: 'simple', misreading: 'no-start' },
      registers: { delayMs: 2.539 },
      seed: 45,
      untilMs: 1756,
    },
  ),
  printed(
    'omega-static',
    'Views with a static quorum',
    'A majority of all nodes is needed for a view; without one, two sides both act.',
    {
      protocol: 'omega',
      nodes: FIVE,
      options: { quorum: 'none' },
      initial: { leader: 1 },
      network: LAN,
      untilMs: 5000,
    },
  ),
  printed(
    'ring-no-freeze',
    'Ring, loads read late',
    'A node compares its present load instead of the one with which it took part.',
    {
      protocol: 'ring',
      nodes: THREE,
      options: { loads: { 1: 3, 2: 2, 3: 1 }, misreading: 'no-freeze' },
      network: { delayMs: 10 },
      events: RING_STARTS,
      untilMs: 1000,
    },
  ),
  printed(
    'recovery-no-fence',
    'Recovery without a fence',
    'The manager does not wait for the promises of the members.',
    {
      protocol: 'recovery',
      nodes: THREE,
      options: { misreading: 'no-fence' },
      network: LAN,
      untilMs: 8000,
    },
  ),
]
