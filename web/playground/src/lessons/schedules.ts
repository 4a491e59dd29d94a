/** Schedules that the explorer found, as in examples/papers. */
import type { PlainObject } from '../../../../src/core/index.ts'
import type { ScenarioFile } from '../engine/messages.ts'

type Steps = PlainObject[]

const timer = (node: number, name: string): PlainObject => ({ node, do: 'timer', name })
const deliver = (node: number, from: number): PlainObject => ({ node, do: 'deliver', from })
const flip = (node: number, peer: number): PlainObject => ({ node, do: 'flip', peer })
const follow = (node: number, peer: number): PlainObject => ({ node, do: 'follow', peer })
const tick = (node: number): PlainObject => ({ node, do: 'tickDisk', to: 1 })
const read = (node: number, of: number): PlainObject => ({ node, do: 'read', of })
const write = (node: number): PlainObject => ({ node, do: 'write' })

const releaseSteps: Steps = [
  timer(1, 'alive'),
  deliver(2, 1),
  deliver(1, 2),
  timer(1, 'alive'),
  timer(1, 'release'),
  deliver(2, 1),
  deliver(2, 1),
  timer(2, 'alive'),
  { ...deliver(1, 2), nth: 1 },
  deliver(2, 1),
]

export const LOCAL_LEADER_RELEASE: ScenarioFile = {
  protocol: 'local-leader',
  nodes: [1, 2, 3],
  options: {
    mode: 'majority',
    witnesses: [3],
    link: 'none',
    requests: 2,
    misreading: 'release-while-leader',
  },
  network: { fifo: false },
  schedule: releaseSteps,
}

const staleAcceptSteps: Steps = [
  flip(1, 2),
  deliver(3, 1),
  follow(2, 1),
  flip(1, 2),
  follow(2, 1),
  flip(2, 3),
  follow(3, 2),
  deliver(1, 3),
  flip(3, 2),
  flip(1, 2),
]

export const OMEGA_STALE_ACCEPT: ScenarioFile = {
  protocol: 'omega-printed',
  nodes: [1, 2, 3],
  options: { smaller: 'all', convergence: 'recipient', rounds: false, views: 'none' },
  seed: 1,
  initial: { leader: 1, members: [1, 2, 3] },
  network: { fifo: true, slack: 1, labelled: true },
  schedule: staleAcceptSteps,
}

const tieSteps: Steps = [
  tick(1),
  read(1, 2),
  tick(2),
  read(2, 1),
  write(1),
  read(1, 2),
  write(2),
  read(2, 1),
  write(1),
  read(1, 2),
  write(2),
  read(2, 1),
  write(1),
  read(1, 2),
  write(1),
  read(1, 2),
]

export const EPOCHS_TIE: ScenarioFile = {
  protocol: 'epochs',
  nodes: [1, 2],
  options: { misreading: 'tie-lowest-id', tick: 'atomic' },
  seed: 1,
  schedule: tieSteps,
}
