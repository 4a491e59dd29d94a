/**
 * What a configuration may contain: the source of what is accepted, of the published JSON Schema, of `--check` and of
 * the configuration reference.
 *
 * A file describes one node of one group, or with `groups` several. Fields outside `groups` apply to each group. No
 * field is required in a file, because flags and the environment may give it.
 */
import { z } from 'zod'
import { DEFAULT_PROTOCOL } from '../../protocols/index.ts'
import { address, nodeFields, path, protocolName, storeNodeId, traceSteps } from './fields.ts'

/** A DNS name without scheme, port or wildcard. */
const HOST_NAME = /^[a-zA-Z0-9_](?:[a-zA-Z0-9_.-]{0,252}[a-zA-Z0-9_])?$/

/** From the most severe to the least. */
export const LOG_LEVELS = ['error', 'warning', 'info'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const processFields = {
  http: address.describe('the HTTP address of the agent; use loopback unless the network is trusted'),
  httpNames: z
    .array(
      z.string().regex(HOST_NAME, {
        error: ({ input }) =>
          `${JSON.stringify(input)} is not a host name, for example agents.example.com; use no scheme and no port`,
      }),
    )
    .describe(
      'host names that HTTP requests may use for the agent; IP addresses and localhost are always allowed. Without it, only an agent on loopback rejects other names',
    ),
  adminTokenFile: path.describe(
    'the file of the admin token, which allows administrative requests; without it they are disabled',
  ),
  readTokenFile: path.describe(
    'the file of the read token; with it, reading the state needs this token or the admin token. `/healthz`, `/readyz`, `/leader` and the files of the page need none',
  ),
  httpCert: path.describe('the file of the certificate for HTTPS, in PEM format, with its chain'),
  httpKey: path.describe('the file of the private key of the certificate, in PEM format'),
  httpClientCa: path.describe(
    'the file of a certificate authority, in PEM format; with it, clients must present a certificate that it signed',
  ),
  logLevel: z
    .enum(LOG_LEVELS)
    .describe('error: alarms and failures; warning: also warnings; info: also events'),
  logFormat: z
    .enum(['json', 'text'])
    .describe('json: one JSON object per line; text: one readable line per event'),
  otlp: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:4318' })
    .describe(
      'URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318; metrics are sent to /v1/metrics, terms as traces to /v1/traces',
    ),
  traceSteps: traceSteps.describe('how many of its last steps a node keeps in its black box; 0: none'),
}

/** The default values. */
export const DEFAULTS = {
  peers: [],
  secrecy: false,
  protocol: DEFAULT_PROTOCOL,
  mode: 'majority',
  profile: 'lan',
  priority: 0,
  sticky: true,
  observer: false,
  witness: false,
  options: {},
  http: '127.0.0.1:7480',
  httpNames: [],
  logLevel: 'info',
  logFormat: 'json',
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

const groupFields = withDefaults(nodeFields)

/** A configuration file. */
export const fileSchema = z.strictObject({
  $schema: z.string().optional().describe('where the schema is, for editors'),
  ...groupFields,
  ...withDefaults(processFields),
  groups: z
    .array(z.strictObject({ ...groupFields, group: nodeFields.group }))
    .min(1)
    .optional()
    .describe('several groups in one process; fields outside apply to each group that does not set them'),
})

/** One node of one group, all sources merged. */
const { store, fencing, ...overNetwork } = nodeFields
export const nodeSchema = z.strictObject({
  ...overNetwork,
  protocol: protocolName('peers'),
  data: nodeFields.data.optional(),
  timing: nodeFields.timing.optional(),
  leaseMinMs: nodeFields.leaseMinMs.optional(),
  leaseMaxMs: nodeFields.leaseMaxMs.optional(),
  leaseLossPerDay: nodeFields.leaseLossPerDay.optional(),
})

/** One node of a group in a store. */
export const storeNodeSchema = z.strictObject({
  group: nodeFields.group,
  id: storeNodeId,
  protocol: protocolName('store'),
  store,
  fencing: fencing.optional(),
  profile: nodeFields.profile,
  options: nodeFields.options,
})

export const processSchema = z.strictObject({
  ...processFields,
  adminTokenFile: processFields.adminTokenFile.optional(),
  readTokenFile: processFields.readTokenFile.optional(),
  httpCert: processFields.httpCert.optional(),
  httpKey: processFields.httpKey.optional(),
  httpClientCa: processFields.httpClientCa.optional(),
  otlp: processFields.otlp.optional(),
})

export type NodeConfig = z.infer<typeof nodeSchema>
export type StoreNodeConfig = z.infer<typeof storeNodeSchema>
export type ProcessConfig = z.infer<typeof processSchema>
export type PeerConfig = NodeConfig['peers'][number]

/** A peer in either of its forms. */
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

/** The peers without the node itself: all nodes may share one list. */
export function othersIn({ id, peers }: NodeConfig): readonly ReturnType<typeof peerParts>[] {
  return peers.map(peerParts).filter((other) => other.id !== id)
}

/** All field names of a file. */
export const KNOWN_FIELDS: readonly string[] = [...Object.keys(fileSchema.shape), 'address']
export const NODE_FIELDS = Object.keys(nodeFields) as readonly (keyof typeof nodeFields)[]
export const PROCESS_FIELDS = Object.keys(processFields) as readonly (keyof ProcessConfig)[]

/** The schema that is published as docs/conclave.schema.json. */
export function publishedSchema(): object {
  return { title: 'A Conclave configuration file', ...z.toJSONSchema(fileSchema, { io: 'input' }) }
}
