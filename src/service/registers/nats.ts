/**
 * Registers in a key-value bucket of NATS JetStream: one key per cell, compared by its revision.
 *
 * It sends JetStream API requests, each once. Reads go to the leader of the bucket's stream (`MSG.GET`). Direct access can
 * be answered by a lagging replica, so a bucket that allows it is refused. With replicas a deposed leader may still return
 * a stale value: refused as well, unless `acceptWeak` is set.
 */

import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { ASSUMPTIONS } from './assumptions.ts'
import { Connection, OPEN_TIMEOUT_MS, unreachableAfter } from './connection.ts'
import {
  describeError,
  isConnectionError,
  StoreAccessDeniedError,
  StoreUnreachableError,
  UnsuitableStoreError,
} from './errors.ts'
import { SocketTracker } from './sockets.ts'
import { type Cell, type CellStore, type StoreFacts, safeName, trialName } from './store.ts'
import { isToken, loadClient, parseUrl, redactUrl } from './urls.ts'

export type NatsOptions = {
  readonly url: string
  readonly bucket: string
  /** Use a bucket with replicas, whose reads can be stale for a moment. */
  readonly acceptWeak: boolean
}

type ApiError = { readonly code: number; readonly err_code?: number; readonly description: string }
type Answer = { readonly error?: ApiError }
type Info = Answer & {
  readonly config?: {
    readonly storage: string
    readonly num_replicas: number
    readonly allow_direct?: boolean
    readonly max_age: number
    readonly max_msgs_per_subject: number
    readonly discard: string
  }
  readonly state?: { readonly subjects?: { readonly [subject: string]: number } }
}
type Got = Answer & { readonly message?: { readonly seq: number; readonly data?: string } }
type Ack = Answer & { readonly seq?: number }

const NO_STREAM = 10_059
const NO_MESSAGE = 10_037
const WRONG_SEQUENCE = 10_071

export async function openNats(
  { url, bucket: configured, acceptWeak }: NatsOptions,
  group: string,
  isTrial = false,
): Promise<CellStore> {
  const { connect, headers } = await loadClient(
    'nats',
    '@nats-io/transport-node',
    () => import('@nats-io/transport-node'),
  )
  const { hosts, username, password, protocol } = parseUrl(url)
  const place = `${redactUrl(url)}, bucket ${configured}`
  let bucket = configured
  let stream = ''
  let start = ''
  const use = (name: string): void => {
    bucket = name
    stream = `KV_${name}`
    start = `$KV.${name}.${safeName(group)}.`
  }
  use(configured)
  let isMade = false
  const credentials = isToken({ protocol, password })
    ? { token: username }
    : { user: username, pass: password }

  /** The client's own reconnection is off: after two rejected logins it would never try again. */
  async function open(signal: AbortSignal, limitMs: number): Promise<Connected> {
    const sockets = new SocketTracker()
    const giveUp = (): void => sockets.destroy()
    signal.addEventListener('abort', giveUp, { once: true })
    let nats: NatsConnection | null = null
    let found: StoreFacts
    try {
      nats = await sockets.run(() =>
        connect({
          servers: hosts.map((host) => `${protocol}//${host}`),
          ...(username === '' ? {} : credentials),
          // Without this, the client sends the credentials in plain text to a server that does not offer TLS.
          ...(protocol === 'tls:' ? { tls: {} } : {}),
          name: `conclave ${group}`,
          // Each server gets a share of the time, so that a silent one does not block the others.
          timeout: limitMs / hosts.length,
          reconnect: false,
        }),
      )
      const ask = createRequest(nats)
      if (isTrial && !isMade && !(await hasStream(ask, stream, signal))) use(trialName(group))
      // After a reconnection it may be another server, or have new settings.
      const config = await openBucket(ask, stream, isMade ? null : bucket, place, signal)
      found = withTrial(inspect(config, place, acceptWeak), configured, bucket)
      isMade = true
    } catch (error) {
      if (nats !== null) end(nats)
      sockets.destroy()
      throw toStoreError(error, place)
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    const connected = { nats, sockets, facts: found }
    void nats
      .closed()
      .then((error) => line.handleLoss(connected, error ?? new Error('the connection is lost')))
    return connected
  }

  const line = new Connection<Connected>({
    place,
    connect: open,
    release: ({ nats, sockets }) => {
      end(nats)
      sockets.destroy()
    },
    isLost: isConnectionError,
  })

  /** The caller enforces the timeout; this one only frees the client's state of the request. */
  function createRequest(nats: NatsConnection): Request {
    return async <T extends Answer>(
      subject: string,
      body: string,
      signal: AbortSignal,
      more?: MsgHdrs,
    ): Promise<T> => {
      signal.throwIfAborted()
      try {
        const reply = await nats.request(subject, body, {
          timeout: 60_000,
          ...(more === undefined ? {} : { headers: more }),
        })
        return reply.json<T>()
      } catch (error) {
        throw toStoreError(error, place)
      }
    }
  }

  const request: Request = (subject, body, signal, more) =>
    line.use(signal, ({ nats }) => createRequest(nats)(subject, body, signal, more))

  let facts: StoreFacts
  try {
    facts = await line.use(unreachableAfter(OPEN_TIMEOUT_MS, place), async (connected) => connected.facts)
  } catch (error) {
    await line.close()
    throw error
  }

  async function get(subject: string, signal: AbortSignal): Promise<Cell | null> {
    const { message, error } = await request<Got>(
      `$JS.API.STREAM.MSG.GET.${stream}`,
      JSON.stringify({ last_by_subj: subject }),
      signal,
    )
    if (error?.err_code === NO_MESSAGE) return null
    if (message === undefined) throw new Error(`${place}: ${error?.description ?? 'no message in the reply'}`)
    const body = Buffer.from(message.data ?? '', 'base64').toString()
    // A deleted key leaves an empty message as a marker; cells are never empty.
    return body === '' ? null : { name: subject.slice(start.length), version: String(message.seq), body }
  }

  async function put(
    name: string,
    body: string,
    expected: string,
    signal: AbortSignal,
    isLast = false,
  ): Promise<string | null> {
    const expecting = headers()
    expecting.set('Nats-Expected-Last-Subject-Sequence', expected)
    if (isLast) expecting.set('KV-Operation', 'DEL')
    const { seq, error } = await request<Ack>(`${start}${name}`, body, signal, expecting)
    if (error?.err_code === WRONG_SEQUENCE) return null
    if (seq === undefined)
      throw new Error(`${place}: ${error?.description ?? 'the write was not acknowledged'}`)
    return String(seq)
  }

  return {
    facts,
    async read(signal) {
      const filter = JSON.stringify({ subjects_filter: `${start}>` })
      const { state, error } = await request<Info>(`$JS.API.STREAM.INFO.${stream}`, filter, signal)
      if (state === undefined)
        throw new Error(`${place}: ${error?.description ?? 'the reply has no information about the bucket'}`)
      const cells = await Promise.all(
        Object.keys(state.subjects ?? {}).map((subject) => get(subject, signal)),
      )
      return cells.filter((cell) => cell !== null)
    },
    write: (name, body, expected, signal) => put(name, body, expected ?? '0', signal),
    async remove(name, expected, signal) {
      await put(name, '', expected, signal, true)
    },
    async close() {
      if (bucket !== configured) {
        const removed = request<Answer>(
          `$JS.API.STREAM.DELETE.${stream}`,
          '',
          AbortSignal.timeout(OPEN_TIMEOUT_MS),
        )
        await removed.catch(() => {})
      }
      await line.close()
    },
  }
}

function withTrial(facts: StoreFacts, configured: string, used: string): StoreFacts {
  if (used === configured) return facts
  const missing = `the bucket ${configured} is missing, and this user can create it: the first node does so`
  return { ...facts, sound: [...facts.sound, missing] }
}

async function hasStream(request: Request, stream: string, signal: AbortSignal): Promise<boolean> {
  const { error } = await request<Info>(`$JS.API.STREAM.INFO.${stream}`, '', signal)
  return error?.err_code !== NO_STREAM
}

type Connected = {
  readonly nats: NatsConnection
  readonly sockets: SocketTracker
  readonly facts: StoreFacts
}

type Request = <T extends Answer>(
  subject: string,
  body: string,
  signal: AbortSignal,
  more?: MsgHdrs,
) => Promise<T>

/** Closes the connection; pending requests are rejected. */
function end(nats: NatsConnection): void {
  nats.close().catch(() => {})
}

/** Opens the bucket. Creates it if it is missing, as `nats kv add` does, but without direct access. */
async function openBucket(
  request: Request,
  stream: string,
  make: string | null,
  place: string,
  signal: AbortSignal,
): Promise<NonNullable<Info['config']>> {
  let info = await request<Info>(`$JS.API.STREAM.INFO.${stream}`, '', signal)
  if (info.error?.err_code === NO_STREAM && make !== null) {
    const config = {
      name: stream,
      subjects: [`$KV.${make}.>`],
      storage: 'file',
      retention: 'limits',
      discard: 'new',
      num_replicas: 1,
      max_msgs_per_subject: 1,
      max_age: 0,
      allow_rollup_hdrs: true,
      deny_delete: true,
      allow_direct: false,
    }
    info = await request<Info>(`$JS.API.STREAM.CREATE.${stream}`, JSON.stringify(config), signal)
    // Another node created it first.
    if (info.error !== undefined) info = await request<Info>(`$JS.API.STREAM.INFO.${stream}`, '', signal)
  }
  if (info.config === undefined)
    throw new StoreAccessDeniedError(
      `${place}: cannot use or create the bucket: ${info.error?.description ?? 'no reply'}`,
    )
  return info.config
}

function inspect(config: NonNullable<Info['config']>, place: string, acceptWeak: boolean): StoreFacts {
  const refuse = (why: string): UnsuitableStoreError =>
    new UnsuitableStoreError(`${place} cannot hold registers: ${why}`)
  if (config.allow_direct === true)
    throw refuse(
      'it allows direct access, which can return stale values; create a bucket with allow_direct=false',
    )
  if (config.storage !== 'file') throw refuse('it is stored in memory; create a bucket with file storage')
  if (config.max_age !== 0) throw refuse('its values expire; create a bucket without a TTL')
  if (config.discard !== 'new')
    throw refuse('it drops old values when it is full; create a bucket with discard new')
  const replicas = config.num_replicas
  const problem = `it has ${replicas} replicas: a deposed leader of the stream can return stale values; create a bucket with a single replica`
  if (replicas > 1 && !acceptWeak)
    throw refuse(
      `${problem}. With acceptWeak (--accept-weak) it is used nevertheless, but two nodes can lead in one epoch`,
    )
  return {
    kind: 'nats',
    place,
    sound: [
      'a write compares the revision of the key',
      'reads go to the leader of the stream, without direct access',
    ],
    weak: replicas > 1 ? [problem] : [],
    assumed: ASSUMPTIONS.nats,
  }
}

function toStoreError(error: unknown, place: string): unknown {
  if (isConnectionError(error)) return error
  const why = describeError(error)
  const kind = error instanceof Error ? error.name : ''
  if (
    kind === 'AuthorizationError' ||
    kind === 'PermissionViolationError' ||
    /authorization|permissions/i.test(why)
  )
    return new StoreAccessDeniedError(
      `${place} refuses: ${why} (check user and password, and the rights to $JS.API.> and $KV.>)`,
      {
        cause: error,
      },
    )
  if (kind === 'NoRespondersError' || /no responders/i.test(why))
    return new UnsuitableStoreError(`${place} runs without JetStream; start it with -js`)
  return new StoreUnreachableError(place, error)
}
