/** How a store is described: an object in a configuration file, or one URL. */
import { z } from 'zod'
import { BadStore } from './errors.ts'
import type { StoreKind } from './store.ts'

const weak = z
  .boolean()
  .default(false)
  .describe('use the store although it may lose acknowledged writes or answer old values')

const url = (protocols: readonly string[], example: string) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `write a URL such as ${example}`,
  })

export const storeSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('memory') }).describe('this process’s memory, for tests'),
  z
    .strictObject({
      kind: z.literal('file'),
      path: z.string().min(1).describe('a folder that all nodes can reach'),
      mode: z
        .enum(['rename', 'sector'])
        .default('rename')
        .describe('a file a version, or one sector overwritten'),
      mountOptions: z
        .array(z.string().min(1))
        .optional()
        .describe('the mount options of the network file system on which the folder lies'),
    })
    .describe('a folder'),
  z
    .strictObject({
      kind: z.literal('postgres'),
      url: url(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database'),
      table: z.string().min(1).default('conclave_registers').describe('its table; made if it is missing'),
    })
    .describe('a table of a PostgreSQL primary'),
  z
    .strictObject({
      kind: z.literal('redis'),
      url: url(['redis:', 'rediss:'], 'redis://user:password@host:6379/0'),
      prefix: z.string().min(1).default('conclave').describe('what its keys begin with'),
      acceptWeak: weak,
    })
    .describe('one Redis server that stands alone'),
  z
    .strictObject({
      kind: z.literal('etcd'),
      endpoints: z
        .array(url(['http:', 'https:'], 'http://host:2379'))
        .min(1)
        .describe('its client addresses'),
      prefix: z.string().min(1).default('/conclave').describe('what its keys begin with'),
      username: z.string().min(1).optional(),
      password: z.string().optional(),
    })
    .describe('an etcd cluster'),
  z
    .strictObject({
      kind: z.literal('nats'),
      url: url(['nats:', 'tls:'], 'nats://user:password@host:4222'),
      bucket: z
        .string()
        .regex(/^[\w-]+$/, 'only letters, digits, - and _')
        .default('conclave')
        .describe('its key-value bucket; made if it is missing'),
      acceptWeak: weak,
    })
    .describe('a key-value bucket of NATS JetStream'),
  z
    .strictObject({
      kind: z.literal('s3'),
      bucket: z.string().min(1),
      prefix: z.string().default('conclave').describe('what its keys begin with'),
      region: z.string().min(1).default('us-east-1'),
      endpoint: url(['http:', 'https:'], 'https://host:9000')
        .optional()
        .describe('of a store other than Amazon’s'),
      accessKeyId: z.string().min(1).optional().describe('else AWS_ACCESS_KEY_ID'),
      secretAccessKey: z.string().min(1).optional().describe('else AWS_SECRET_ACCESS_KEY'),
      sessionToken: z.string().min(1).optional().describe('else AWS_SESSION_TOKEN'),
    })
    .describe('a bucket of S3 or a store that speaks like it'),
])

export type StoreConfig = z.infer<typeof storeSchema>

const SCHEMES: { readonly [protocol: string]: StoreKind } = {
  'memory:': 'memory',
  'file:': 'file',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'redis:': 'redis',
  'rediss:': 'redis',
  'etcd:': 'etcd',
  'etcds:': 'etcd',
  'nats:': 'nats',
  'tls:': 'nats',
  's3:': 's3',
}

/** A description with every field checked and filled in. */
export function parseStore(given: unknown): StoreConfig {
  const parsed = storeSchema.safeParse(typeof given === 'string' ? fromUrl(given) : given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = ['store', ...(issue?.path ?? [])].join('.')
  throw new BadStore(field, issue?.message ?? 'it is wrong')
}

/** Options stand behind the question mark: `file:/shared?mode=sector`, `redis://host?acceptWeak=true`. */
function fromUrl(given: string): object {
  if (!URL.canParse(given)) return { kind: 'file', path: given }
  const parsed = new URL(given)
  const kind = SCHEMES[parsed.protocol]
  if (kind === undefined)
    throw new BadStore(
      'store',
      `${parsed.protocol} is not a kind of store; there are ${Object.keys(SCHEMES).join(' ')}`,
    )
  const own = ['mode', 'mountOptions', 'table', 'prefix', 'acceptWeak', 'bucket', 'region', 'endpoint']
  const options: { [name: string]: unknown } = {}
  for (const name of own) {
    const value = parsed.searchParams.get(name)
    if (value === null) continue
    options[name] =
      name === 'acceptWeak' ? value === 'true' : name === 'mountOptions' ? value.split(',') : value
    parsed.searchParams.delete(name)
  }
  const path = decodeURIComponent(parsed.pathname)
  switch (kind) {
    case 'memory':
      return { kind, ...options }
    case 'file':
      return { kind, path, ...options }
    case 's3':
      return {
        kind,
        bucket: parsed.hostname,
        ...(path.length > 1 ? { prefix: path.slice(1) } : {}),
        ...options,
      }
    case 'etcd': {
      const scheme = parsed.protocol === 'etcds:' ? 'https' : 'http'
      const user =
        parsed.username === ''
          ? {}
          : { username: decodeURIComponent(parsed.username), password: decodeURIComponent(parsed.password) }
      return {
        kind,
        endpoints: parsed.host.split(',').map((host) => `${scheme}://${host}`),
        ...user,
        ...options,
      }
    }
    default:
      return { kind, url: parsed.href, ...options }
  }
}
