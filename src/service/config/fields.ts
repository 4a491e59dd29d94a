/** The fields of a node: one schema for `join`, configuration files, flags and the environment. */
import { z } from 'zod'
import { type Hosting, hostedNames, hostingOf, protocolNamed } from '../../protocols/index.ts'
import { fencingSchema } from '../fencing/config.ts'
import { storeSchema } from '../registers/index.ts'
import {
  ADDRESS_PATTERN,
  addressProblem,
  MAX_ID_LENGTH,
  NODE_ID_PATTERN,
  nodeIdProblem,
  PEER_PATTERN,
  peerOrAddressProblem,
  peerProblem,
  unreachablePort,
} from './address.ts'

/** A string with a pattern for the JSON Schema, and a function that says more exactly what is wrong with it. */
const written = (pattern: RegExp, problemOf: (text: string) => string | null) =>
  z
    .string()
    .regex(pattern, { error: ({ input }) => problemOf(input as string) ?? 'is not valid' })
    .refine((text) => problemOf(text) === null, {
      error: ({ input }) => problemOf(input as string) ?? 'is not valid',
      when: ({ value }) => typeof value === 'string' && pattern.test(value),
    })

export const address = written(ADDRESS_PATTERN, addressProblem)
const name = z.string().min(1, { abort: true }).max(MAX_ID_LENGTH)
const nodeId = name.regex(NODE_ID_PATTERN, {
  error: ({ input }) => nodeIdProblem(input as string) ?? 'is not valid',
})
export const path = z.string().min(1)

const peerAddress = written(ADDRESS_PATTERN, (text) => addressProblem(text) ?? unreachablePort(text))

const peer = z.union([
  written(PEER_PATTERN, peerProblem),
  z.strictObject({
    id: nodeId.describe('its id'),
    address: peerAddress.describe('the address on which it listens, HOST:PORT'),
    observer: z.boolean().default(false).describe('it learns who leads but never votes'),
    witness: z.boolean().default(false).describe('it votes but never leads'),
  }),
])

/** For `join`, which can ask a peer for its id. */
export const peerOrAddress = z.string().refine((text) => peerOrAddressProblem(text) === null, {
  error: ({ input }) => peerOrAddressProblem(input as string) ?? 'is not valid',
})

/** The name of a protocol that real nodes run; with `needs`, only of one whose nodes meet in that way. */
export function protocolName(needs?: Hosting['needs']) {
  const isHosted = (given: string): boolean =>
    needs === undefined ? hostingOf(given) !== null : hostingOf(given)?.needs === needs
  return z.string().refine(isHosted, { error: ({ input }) => protocolProblem(input) })
}

function protocolProblem(input: unknown): string {
  const isKnown = typeof input === 'string' && protocolNamed(input) !== null
  const why = isKnown ? 'runs in the workbench only' : 'is not a protocol'
  const stores = hostedNames('store').join(', ')
  return `${JSON.stringify(input)} ${why}; use one of ${hostedNames('peers').join(', ')}, or ${stores} with a store`
}

/** Whether the nodes of that protocol share a store. */
export function isInStore(protocol: unknown): boolean {
  return typeof protocol === 'string' && hostingOf(protocol)?.needs === 'store'
}

const STORE_PROTOCOLS = hostedNames('store').join(', ')

export const MAX_TRACE_STEPS = 1_000_000
/** Of a node of the library: enough to see what led to a failure. */
export const DEFAULT_TRACE_STEPS = 256
/** In either direction, as the protocols have it. */
export const MAX_PRIORITY = 1_000_000

export const traceSteps = z.int().min(0).max(MAX_TRACE_STEPS)

/** The id is twice in a block of 480 bytes. */
const MAX_STORE_ID_BYTES = 64

export const storeNodeId = nodeId.refine((id) => Buffer.byteLength(id) <= MAX_STORE_ID_BYTES, {
  error: `must be at most ${MAX_STORE_ID_BYTES} bytes long, because a register has room for no more`,
})

/** The bounds of bounds: below, timers cannot keep a lease; above, `conclave recover` would not wait long enough. */
const MIN_LEASE_MS = 10
const MAX_LEASE_MS = 60_000
export const leaseMs = z
  .number()
  .min(MIN_LEASE_MS, {
    error: ({ input }) =>
      `${String(input)} is too short, because timers of a process cannot keep such leases; use ${MIN_LEASE_MS} or more`,
  })
  .max(MAX_LEASE_MS, {
    error: ({ input }) =>
      `${String(input)} is too long, because a group waits that long for a leader that is gone; use ${MAX_LEASE_MS} or less`,
  })

export const nodeFields = {
  group: name.describe('the group that this node belongs to'),
  id: nodeId.describe('the id of this node; no two processes of a group may share one'),
  listen: address.describe('the UDP address on which it listens'),
  peers: z
    .array(peer)
    .describe(
      'the nodes of the group, each as ID=HOST:PORT or as an object with its role; this node may be among them',
    ),
  keyFile: z
    .union([path, z.array(path).min(1)])
    .describe("the file of the group's key, at least 16 bytes; of several keys the first seals and all open"),
  secrecy: z.boolean().describe('encrypts datagrams as well as authenticating them; the same on all nodes'),
  data: path.describe(
    'the data directory, for state that must survive a crash; given for several groups, each has a directory in it',
  ),
  protocol: protocolName()
    .describe(
      hostedNames()
        .map((each) => `${each}: ${hostingOf(each)?.summary}`)
        .join('; '),
    )
    .meta({ examples: [...hostedNames()] }),
  store: z
    .union([z.string().min(1), storeSchema])
    .describe(`the store that holds the registers: a URL, or an object; required with ${STORE_PROTOCOLS}`),
  fencing: z
    .array(fencingSchema)
    .describe(
      `with ${STORE_PROTOCOLS}: devices that fence all other nodes, and confirm it, before this node leads`,
    ),
  mode: z.enum(['local', 'majority']).describe('majority: one leader overall; local: one in each partition'),
  profile: z
    .enum(['fast', 'lan', 'region', 'wan'])
    .describe(
      'the network between the nodes; it determines the timing: bounds of leases (`timing: adaptive`) or constants. fast: quiet hosts side by side, leases from 20 ms to 2 s; only with the default protocol',
    ),
  timing: z
    .enum(['fixed', 'adaptive'])
    .describe(
      'adaptive: the leader measures how late nodes and messages are, and chooses the shortest lease that the measurements allow; fixed: constants, which must be the same on all nodes. Without it: adaptive with the default protocol in majority mode, unless `options` sets a constant; otherwise fixed',
    ),
  leaseMinMs: leaseMs.describe(
    'with `timing: adaptive`: the shortest lease; shorter leases fail over sooner and cost more messages. Without it, from the profile',
  ),
  leaseMaxMs: leaseMs.describe(
    'with `timing: adaptive`: the longest lease, which a group on busy hosts needs. Without it, from the profile; without it and `data`, 1 s, or 3.2 s in the profile wan',
  ),
  leaseLossPerDay: z
    .number()
    .min(0.01)
    .max(100_000)
    .describe(
      'with `timing: adaptive`: how many leases may be lost in a day because a node or a message was late; 1 by default',
    ),
  priority: z
    .int()
    .min(-MAX_PRIORITY)
    .max(MAX_PRIORITY)
    .describe('a node with a higher priority is preferred as leader'),
  sticky: z.boolean().describe('whether only a node with a higher priority replaces a leader'),
  observer: z
    .boolean()
    .describe('this node learns who leads but never votes; configure it as an observer on its peers, too'),
  witness: z.boolean().describe('this node votes but never leads'),
  options: z
    .record(z.string(), z.json())
    .describe(
      'single options of the protocol, as `conclave protocols` lists them; they override the profile',
    ),
}

/** Fields that a group in a store does not have, and fields that no other group has. */
export const NETWORK_ONLY = [
  'listen',
  'peers',
  'key',
  'keyFile',
  'secrecy',
  'data',
  'mode',
  'timing',
  'leaseMinMs',
  'leaseMaxMs',
  'leaseLossPerDay',
  'priority',
  'sticky',
  'observer',
  'witness',
] as const
export const STORE_ONLY = ['store', 'fencing'] as const

export const NEEDS_NETWORK = `does not apply to the protocol ${STORE_PROTOCOLS}, whose nodes share a store; remove it`
export const NEEDS_STORE = `applies only to the protocol ${STORE_PROTOCOLS}; remove it, or set the protocol to ${STORE_PROTOCOLS}`

/** When a node is given both roles. */
export const TWO_ROLES = {
  field: 'witness',
  message: 'a witness votes, an observer does not; choose one',
} as const
