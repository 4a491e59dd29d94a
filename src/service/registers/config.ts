/** How a store is described: an object in a configuration file, or one URL. */
import { z } from 'zod'
import { describeError, InvalidStoreError } from './errors.ts'
import type { StoreKind } from './store.ts'
import { parseUrl, type UrlParts } from './urls.ts'

const weak = z
  .boolean()
  .default(false)
  .describe('use the store although it may lose acknowledged writes or answer old values')

const url = (protocols: readonly string[], example: string) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `write a URL such as ${example}`,
  })

/** The address is shown in errors, so it is no place for a password. */
const address = (protocols: readonly string[], example: string, instead: string) =>
  url(protocols, example).refine((text) => !URL.canParse(text) || new URL(text).password === '', {
    message: `takes no password: ${instead}`,
  })

/** One host, or several with commas between. */
const hostsUrl = (protocols: readonly string[], example: string) =>
  z.string().superRefine((text, context) => {
    const parts = tryOr(() => parseUrl(text))
    if (typeof parts === 'string' || !protocols.includes(parts.protocol))
      context.addIssue(`write a URL such as ${example}${typeof parts === 'string' ? ` (${parts})` : ''}`)
  })

/** What comes out, or why nothing does. */
function tryOr<T>(task: () => T): T | string {
  try {
    return task()
  } catch (error) {
    return describeError(error)
  }
}

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
      url: hostsUrl(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database').describe(
        'where it is; several hosts with commas between: the first that is a primary counts',
      ),
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
        .array(address(['http:', 'https:'], 'http://host:2379', 'give username and password as fields'))
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
      url: hostsUrl(['nats:', 'tls:'], 'nats://user:password@host:4222').describe(
        'where it is; several servers of one cluster with commas between',
      ),
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
      endpoint: address(
        ['http:', 'https:'],
        'https://host:9000',
        'give accessKeyId and secretAccessKey as fields',
      )
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
  const parsed = storeSchema.safeParse(typeof given === 'string' ? parseStoreUrl(given) : given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = ['store', ...(issue?.path ?? [])].join('.')
  throw new InvalidStoreError(field, issue?.message ?? 'it is wrong')
}

const OPTIONS = ['mode', 'mountOptions', 'table', 'prefix', 'acceptWeak', 'bucket', 'region', 'endpoint']
const ETCD_PORT = 2379

/** Options stand behind the question mark: `file:/shared?mode=sector`, `redis://host?acceptWeak=true`. */
function parseStoreUrl(given: string): object {
  const scheme = /^(?<scheme>[a-z][a-z0-9+.-]*:)/i.exec(given)?.groups?.['scheme']?.toLowerCase()
  // A word that is meant as a URL must not become a folder: each machine would have its own, and its own leader.
  if (scheme === undefined) {
    if (/^\.{0,2}\//.test(given)) {
      if (given.includes('?'))
        throw new InvalidStoreError('store', `a path takes no options: write file:${given} instead`)
      return { kind: 'file', path: given }
    }
    throw new InvalidStoreError(
      'store',
      `"${given.replace(/:.*@/s, ':***@')}" is neither a URL nor a path: write a URL such as postgres://host/database, or file:NAME, /NAME or ./NAME for a folder`,
    )
  }
  const kind = SCHEMES[scheme]
  if (kind === undefined)
    throw new InvalidStoreError(
      'store',
      `${scheme} is not a kind of store; there are ${Object.keys(SCHEMES).join(' ')}`,
    )
  if (kind === 'memory' || kind === 'file') return parseLocalStore(kind, given.slice(scheme.length))
  const parts = tryOr(() => parseUrl(given))
  if (typeof parts === 'string') throw new InvalidStoreError('store', parts)
  return parseRemoteStore(kind, parts)
}

function parseLocalStore(kind: 'memory' | 'file', rest: string): object {
  const [text = '', query = ''] = rest.split(/\?(.*)/s)
  const options = takeOptions(new URLSearchParams(query), kind)
  if (kind === 'memory') {
    if (text.replace(/^\/\//, '') !== '')
      throw new InvalidStoreError('store', 'memory: stands alone; it has no place')
    return { kind, ...options }
  }
  const named = tryOr(() => decodeURIComponent(text.replace(/^\/\/(?:localhost)?(?=\/)/, '')))
  if (named.startsWith('//'))
    throw new InvalidStoreError('store', 'a folder is on this machine: write file:/folder, without a host')
  return { kind, path: named, ...options }
}

function parseRemoteStore(kind: Exclude<StoreKind, 'memory' | 'file'>, parts: UrlParts): object {
  const { protocol, username, password, hosts, path, search } = parts
  const isPassedOn = kind === 'postgres' || kind === 'redis'
  const options = takeOptions(search, isPassedOn ? null : kind)
  const severalAllowed = kind === 'postgres' || kind === 'etcd' || kind === 'nats'
  if (!severalAllowed && hosts.length > 1)
    throw new InvalidStoreError(
      'store',
      kind === 'redis'
        ? `name one server, not ${hosts.length}: Redis with Sentinel or Cluster loses acknowledged writes in a failover`
        : `name one bucket, not ${hosts.length}`,
    )
  if (kind !== 'postgres' && hosts[0] === '') throw new InvalidStoreError('store', `${protocol} needs a host`)
  if ((kind === 'etcd' || kind === 'nats') && path !== '')
    throw new InvalidStoreError(
      'store',
      `${protocol} has no path: take /${path} out, or give ?prefix= or ?bucket=`,
    )
  switch (kind) {
    case 's3':
      return { kind, bucket: hosts[0], ...(path === '' ? {} : { prefix: path }), ...options }
    case 'etcd': {
      const scheme = protocol === 'etcds:' ? 'https' : 'http'
      const endpoints = hosts.map(
        (host) => `${scheme}://${/:\d+$/.test(host) ? host : `${host}:${ETCD_PORT}`}`,
      )
      return { kind, endpoints, ...(username === '' ? {} : { username, password }), ...options }
    }
    default: {
      const whole = parts.at(hosts.join(','))
      const kept = search.size === 0 ? '' : `?${search.toString()}`
      return { kind, url: `${whole.replace(/\?.*$/s, '')}${kept}`, ...options }
    }
  }
}

/** Takes the store's own options out of the query. What is left is the client's; where that knows none, a mistake. */
function takeOptions(
  search: URLSearchParams,
  strict: StoreKind | null,
): { readonly [name: string]: unknown } {
  const options: { [name: string]: unknown } = {}
  for (const name of OPTIONS) {
    const value = search.get(name)
    if (value === null) continue
    if (name === 'acceptWeak' && value !== 'true' && value !== 'false')
      throw new InvalidStoreError('store.acceptWeak', `must be true or false, not "${value}"`)
    options[name] =
      name === 'acceptWeak' ? value === 'true' : name === 'mountOptions' ? value.split(',') : value
    search.delete(name)
  }
  const [unknown] = search.keys()
  if (strict !== null && unknown !== undefined)
    throw new InvalidStoreError(`store.${unknown}`, `is not an option of ${strict}`)
  return options
}
