/** The configuration of a store: an object in a configuration file, or a URL. */
import { z } from 'zod'
import { describeError, InvalidStoreError } from './errors.ts'
import type { StoreKind } from './store.ts'
import { parseUrl, type UrlParts } from './urls.ts'

const weak = z
  .boolean()
  .default(false)
  .describe('use the store although it may lose acknowledged writes or return stale values')

const url = (protocols: readonly string[], example: string) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `must be a URL such as ${example}`,
  })

/** Errors show the address, so it must not contain a password. */
const address = (protocols: readonly string[], example: string, instead: string) =>
  url(protocols, example).refine((text) => !URL.canParse(text) || new URL(text).password === '', {
    message: `must not contain a password: ${instead}`,
  })

/** What a client would ignore: nodes that differ in it would use different stores, or no TLS. */
function refuseIgnored(kind: 'redis' | 'nats', text: string, context: z.RefinementCtx): void {
  const parts = tryOr(() => parseUrl(text))
  if (typeof parts === 'string') return
  const { path, search } = parts
  const known = kind === 'redis' ? REDIS_PARAMETERS : []
  const unknown = [...search.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined)
    context.addIssue(
      `the parameter ${unknown} is not known${known.length === 0 ? '' : `; use only ${known.join(' or ')}`}`,
    )
  if (kind === 'nats' && path !== '') context.addIssue(`takes no path: remove /${path}`)
  if (kind === 'redis' && !/^\d*$/.test(path))
    context.addIssue(`the path must be the number of a database, not "${path}"`)
}

const REDIS_PARAMETERS: readonly string[] = ['db', 'family']

/** One host, or several separated by commas. */
const hostsUrl = (protocols: readonly string[], example: string) =>
  z.string().superRefine((text, context) => {
    const parts = tryOr(() => parseUrl(text))
    if (typeof parts === 'string' || !protocols.includes(parts.protocol))
      context.addIssue(`must be a URL such as ${example}${typeof parts === 'string' ? ` (${parts})` : ''}`)
  })

/** Returns the result, or the error message. */
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
      path: z
        .string()
        .min(1)
        .refine((path) => !/^~(?:\/|$)/.test(path), {
          message:
            '~ is not expanded here, so it would be a folder below the current one: write the whole path',
        })
        .describe('a folder that all nodes can reach'),
      mode: z
        .enum(['rename', 'sector'])
        .default('rename')
        .describe('one file per version, or one sector that is overwritten'),
      mountOptions: z
        .array(z.string().min(1))
        .optional()
        .describe('mount options, if the folder is on a network file system'),
    })
    .describe('a folder'),
  z
    .strictObject({
      kind: z.literal('postgres'),
      url: hostsUrl(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database').describe(
        'URL of the server; with several hosts, separated by commas, the first primary is used',
      ),
      table: z.string().min(1).default('conclave_registers').describe('table; created if it is missing'),
    })
    .describe('a table of a PostgreSQL primary'),
  z
    .strictObject({
      kind: z.literal('redis'),
      url: url(['redis:', 'rediss:'], 'redis://user:password@host:6379/0').superRefine((text, context) =>
        refuseIgnored('redis', text, context),
      ),
      prefix: z.string().min(1).default('conclave').describe('prefix of its keys'),
      acceptWeak: weak,
    })
    .describe('a standalone Redis server'),
  z
    .strictObject({
      kind: z.literal('etcd'),
      endpoints: z
        .array(address(['http:', 'https:'], 'http://host:2379', 'use the fields username and password'))
        .min(1)
        .describe('its client addresses'),
      prefix: z.string().min(1).default('/conclave').describe('prefix of its keys'),
      username: z.string().min(1).optional(),
      password: z.string().optional(),
    })
    .describe('an etcd cluster'),
  z
    .strictObject({
      kind: z.literal('nats'),
      url: hostsUrl(['nats:', 'tls:'], 'nats://user:password@host:4222')
        .superRefine((text, context) => refuseIgnored('nats', text, context))
        .describe('URL of the server; several servers of one cluster are separated by commas'),
      bucket: z
        .string()
        .regex(/^[\w-]+$/, 'only letters, digits, - and _')
        .default('conclave')
        .describe('key-value bucket; created if it is missing'),
      acceptWeak: weak,
    })
    .describe('a key-value bucket of NATS JetStream'),
  z
    .strictObject({
      kind: z.literal('s3'),
      bucket: z.string().min(1),
      prefix: z.string().default('conclave').describe('prefix of its keys'),
      region: z.string().min(1).default('us-east-1'),
      endpoint: address(
        ['http:', 'https:'],
        'https://host:9000',
        'use the fields accessKeyId and secretAccessKey',
      )
        .optional()
        .describe('for a store other than Amazon’s'),
      accessKeyId: z.string().min(1).optional().describe('default: AWS_ACCESS_KEY_ID'),
      secretAccessKey: z.string().min(1).optional().describe('default: AWS_SECRET_ACCESS_KEY'),
      sessionToken: z.string().min(1).optional().describe('default: AWS_SESSION_TOKEN'),
    })
    .describe('a bucket of S3 or a compatible store'),
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

/** Validates a store configuration and fills in the defaults. */
export function parseStore(given: unknown): StoreConfig {
  const parsed = storeSchema.safeParse(typeof given === 'string' ? parseStoreUrl(given) : given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = ['store', ...(issue?.path ?? [])].join('.')
  throw new InvalidStoreError(field, issue?.message ?? 'is invalid')
}

const OPTIONS = ['mode', 'mountOptions', 'table', 'prefix', 'acceptWeak', 'bucket', 'region', 'endpoint']
const ETCD_PORT = 2379

/** Options follow the question mark: `file:/shared?mode=sector`, `redis://host?acceptWeak=true`. */
function parseStoreUrl(given: string): object {
  const scheme = /^(?<scheme>[a-z][a-z0-9+.-]*:)/i.exec(given)?.groups?.['scheme']?.toLowerCase()
  // A mistyped URL must not become a folder name: each machine would have its own folder, and its own leader.
  if (scheme === undefined) {
    if (/^\.{0,2}\//.test(given)) {
      if (given.includes('?'))
        throw new InvalidStoreError('store', `a path takes no options: use file:${given}`)
      return { kind: 'file', path: given }
    }
    throw new InvalidStoreError(
      'store',
      `"${given.replace(/:.*@/s, ':***@')}" is neither a URL nor a path: use a URL such as postgres://host/database, or file:NAME, /NAME or ./NAME for a folder`,
    )
  }
  const kind = SCHEMES[scheme]
  if (kind === undefined)
    throw new InvalidStoreError(
      'store',
      `${scheme} is not a kind of store; use one of ${Object.keys(SCHEMES).join(' ')}`,
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
      throw new InvalidStoreError('store', 'memory: takes no host or path')
    return { kind, ...options }
  }
  const named = tryOr(() => decodeURIComponent(text.replace(/^\/\/(?:localhost)?(?=\/)/, '')))
  if (named.startsWith('//')) throw new InvalidStoreError('store', 'file: takes no host: use file:/folder')
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
        ? `use one server, not ${hosts.length}: Redis with Sentinel or Cluster loses acknowledged writes in a failover`
        : `use one bucket, not ${hosts.length}`,
    )
  if (kind !== 'postgres' && hosts[0] === '') throw new InvalidStoreError('store', `${protocol} needs a host`)
  if ((kind === 'etcd' || kind === 'nats') && path !== '')
    throw new InvalidStoreError(
      'store',
      `${protocol} takes no path: remove /${path}, or use ?prefix= or ?bucket=`,
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

/** Removes the store's options from the query. The rest is for the client; for stores without client options it is an error. */
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
