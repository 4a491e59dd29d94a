/**
 * What a node may be told: the one source of what is accepted, of the published JSON Schema, of `--check` and of the
 * reference in docs/reference/configuration.md.
 *
 * A file describes one node of one group, or with `groups` several; what stands outside `groups` holds for each of
 * them. Nothing is required in a file, because flags and the environment may say the rest.
 */
import { z } from 'zod'
import { RUNNABLE } from '../../protocols/index.ts'
import { fencingSchema } from '../fencing/config.ts'
import { storeSchema } from '../registers/index.ts'

const PORTS = 65_535
const ADDRESS = /^(?:\[[^\]\s]+\]|[^:[\]\s]+):\d{1,5}$/
const PEER = /^[^=\s]+=(?:\[[^\]\s]+\]|[^:[\]\s]+):\d{1,5}$/

/** A DNS name; no scheme, no port, no wildcard. */
const HOST_NAME = /^[a-zA-Z0-9_](?:[a-zA-Z0-9_.-]{0,252}[a-zA-Z0-9_])?$/

const hasPort = (text: string): boolean => Number(text.slice(text.lastIndexOf(':') + 1)) <= PORTS

const written = (pattern: RegExp, form: string) =>
  z
    .string()
    .regex(pattern, { error: ({ input }) => `${JSON.stringify(input)} is not ${form}` })
    .refine(hasPort, {
      error: ({ input }) => `${JSON.stringify(input)}: a port is at most ${PORTS}`,
      when: ({ value }) => typeof value === 'string' && pattern.test(value),
    })

const address = written(ADDRESS, 'HOST:PORT, as in 10.0.0.1:7400 or [::1]:7400')
const name = z.string().min(1).max(200)
/** As it can be named in a list of peers. */
const nodeId = name.regex(/^[^=,\s]+$/, {
  error: ({ input }) =>
    `${JSON.stringify(input)} has a space, a comma or an =, which no list of peers can hold`,
})
const file = z.string().min(1)
const priority = z.int().min(-1_000_000).max(1_000_000)

/** At which somebody can be reached. */
const reachable = <T extends z.ZodType<string>>(schema: T) =>
  schema.refine((text) => !/:0+$/.test(text), {
    error: ({ input }) => `${JSON.stringify(input)} has port 0, at which nobody can be reached`,
  })

const peer = z.union([
  reachable(written(PEER, 'ID=HOST:PORT, as in b=10.0.0.2:7400')),
  z.strictObject({
    id: nodeId.describe('its id'),
    address: reachable(address).describe('where it listens, HOST:PORT'),
    observer: z.boolean().default(false).describe('it learns but never votes'),
    witness: z.boolean().default(false).describe('it votes but never leads'),
  }),
])

/** The protocols that real processes run: over the network, or in a store. */
export const PROTOCOLS = [...RUNNABLE, 'epochs'] as const

const node = {
  group: name.describe('the group that this node belongs to'),
  id: nodeId.describe('the name of this node in the group; never given to two processes'),
  listen: address.describe('where it listens, UDP'),
  peers: z
    .array(peer)
    .describe(
      'the nodes of the group, each as ID=HOST:PORT or as an object with its role; this one may be among them',
    ),
  keyFile: z
    .union([file, z.array(file).min(1)])
    .describe("the cluster's key, at least 16 bytes; of several the first seals and all open"),
  secrecy: z.boolean().describe('encrypts datagrams as well as authenticating them; the same on all nodes'),
  data: file.describe(
    'the folder of what must survive a crash; given for several groups, each has a folder in it',
  ),
  protocol: z
    .enum(PROTOCOLS)
    .describe(
      'local-leader: leases; omega: numbered views of the living, no leases, needs `data`; epochs: election in a store',
    ),
  store: z
    .union([z.string().min(1), storeSchema])
    .describe(
      'where the registers of `epochs` are: a URL, or an object as docs/explanation/stores.md shows it; without it `epochs` cannot run',
    ),
  fencing: z
    .array(fencingSchema)
    .describe(
      'devices that cut all others off, and confirm it, before a node of `epochs` says that it leads: docs/how-to/write-a-fenced-resource.md',
    ),
  mode: z
    .enum(['local', 'majority'])
    .describe(
      'majority: one leader in all; local: one in each partition (omega: the quorum `dynamic`, or `none`)',
    ),
  profile: z
    .enum(['lan', 'region', 'wan'])
    .describe('the network between the nodes: where constants come from'),
  priority: priority.describe('higher is preferred as leader'),
  sticky: z.boolean().describe('whether a leader is deposed only by a higher priority'),
  observer: z.boolean().describe('this node learns but never votes; its peers must be told so too'),
  witness: z.boolean().describe('this node votes but never leads'),
  options: z
    .record(z.string(), z.json())
    .describe(
      'single options of the protocol, as `conclave protocols` lists them; they win over the profile',
    ),
}

const process = {
  http: address.describe('where the agent answers HTTP; loopback unless the network is yours'),
  httpNames: z
    .array(
      z.string().regex(HOST_NAME, {
        error: ({ input }) =>
          `${JSON.stringify(input)} is not a host name, as in agents.example.com: write it without scheme and port`,
      }),
    )
    .describe(
      'host names under which HTTP requests may ask for the agent; addresses and localhost always may. Without it, only an agent on loopback refuses other names',
    ),
  adminTokenFile: file.describe('whoever knows what is in it may give orders; without it nobody may'),
  traceSteps: z
    .int()
    .min(0)
    .max(1_000_000)
    .describe('how many of its last steps a node keeps for its black box; 0: none'),
}

/** What holds unless told otherwise. */
export const DEFAULTS = {
  peers: [],
  secrecy: false,
  protocol: 'local-leader',
  mode: 'majority',
  profile: 'lan',
  priority: 0,
  sticky: true,
  observer: false,
  witness: false,
  options: {},
  http: '127.0.0.1:7480',
  httpNames: [],
  traceSteps: 4096,
} as const

const withDefaults = <T extends z.ZodRawShape>(shape: T): { [K in keyof T]: z.ZodOptional<T[K]> } =>
  Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => {
      const byDefault = (DEFAULTS as { readonly [key: string]: unknown })[key]
      const type = schema as z.ZodType
      return [key, byDefault === undefined ? type.optional() : type.optional().meta({ default: byDefault })]
    }),
  ) as unknown as { [K in keyof T]: z.ZodOptional<T[K]> }

const groupFields = withDefaults(node)

/** A configuration file. */
export const fileSchema = z.strictObject({
  $schema: z.string().optional().describe('where the schema is, for editors'),
  ...groupFields,
  ...withDefaults(process),
  groups: z
    .array(z.strictObject({ ...groupFields, group: node.group }))
    .min(1)
    .optional()
    .describe('several groups in one process; what stands outside holds for each unless it says otherwise'),
})

/** One node of one group, when everything has been said. */
const { store, fencing, ...overNetwork } = node
export const nodeSchema = z.strictObject({
  ...overNetwork,
  protocol: z.enum(RUNNABLE),
  data: node.data.optional(),
})

/** One node of a group that meets in a store. */
export const storeNodeSchema = z.strictObject({
  group: node.group,
  id: node.id,
  protocol: z.literal('epochs'),
  store,
  fencing: fencing.optional(),
  profile: node.profile,
  options: node.options,
})

export const processSchema = z.strictObject({ ...process, adminTokenFile: process.adminTokenFile.optional() })

export type NodeConfig = z.infer<typeof nodeSchema>
export type StoreNodeConfig = z.infer<typeof storeNodeSchema>
export type ProcessConfig = z.infer<typeof processSchema>
export type PeerConfig = NodeConfig['peers'][number]

/** A peer, however it was written. */
export function peerParts(given: PeerConfig): {
  readonly id: string
  readonly address: string
  readonly observer: boolean
  readonly witness: boolean
} {
  if (typeof given !== 'string') return given
  const at = given.indexOf('=')
  return { id: given.slice(0, at), address: given.slice(at + 1), observer: false, witness: false }
}

/** All nodes may be given the same list: a node leaves itself out. */
export function othersIn({ id, peers }: NodeConfig): readonly ReturnType<typeof peerParts>[] {
  return peers.map(peerParts).filter((other) => other.id !== id)
}

/** Every name that may stand in a file. */
export const KNOWN_FIELDS: readonly string[] = [...Object.keys(fileSchema.shape), 'address']
export const NODE_FIELDS = Object.keys(node) as readonly (keyof typeof node)[]
export const PROCESS_FIELDS = Object.keys(process) as readonly (keyof ProcessConfig)[]

/** The schema that is published as docs/conclave.schema.json. */
export function publishedSchema(): object {
  return { title: 'A Conclave configuration file', ...z.toJSONSchema(fileSchema, { io: 'input' }) }
}
