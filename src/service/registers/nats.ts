/**
 * Registers in a key-value bucket of NATS JetStream: a key a cell, compared by its revision.
 *
 * It speaks JetStream's own requests, each sent once. Reads go to the leader of the bucket's stream (`MSG.GET`); what is
 * called direct access may be answered by a replica that lags, so a bucket that allows it is refused. With replicas a
 * leader that has just been deposed may still answer an old value: refused, too, unless `acceptWeak` is given.
 */

import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { ASSUMPTIONS } from './assumptions.ts'
import { Connection, OPEN_TIMEOUT_MS } from './connection.ts'
import {
  describeError,
  isConnectionError,
  StoreAccessDeniedError,
  StoreUnreachableError,
  UnsuitableStoreError,
} from './errors.ts'
import { SocketTracker } from './sockets.ts'
import { type Cell, type CellStore, type StoreFacts, safeName } from './store.ts'
import { loadClient, parseUrl, redactUrl } from './urls.ts'

export type NatsOptions = {
  readonly url: string
  readonly bucket: string
  /** Use a bucket with replicas, whose reads may be old for a moment. */
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

export async function openNats({ url, bucket, acceptWeak }: NatsOptions, group: string): Promise<CellStore> {
  const { connect, headers } = await loadClient(
    'nats',
    '@nats-io/transport-node',
    () => import('@nats-io/transport-node'),
  )
  const { hosts, username, password, protocol } = parseUrl(url)
  const place = `${redactUrl(url)}, bucket ${bucket}`
  const stream = `KV_${bucket}`
  const start = `$KV.${bucket}.${safeName(group)}.`
  let isMade = false
  // As the NATS tools read it: a user without a password is a token.
  const credentials = password === '' ? { token: username } : { user: username, pass: password }

  /** The client reconnects no more by itself: after two refusals of the password it would give up for ever. */
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
          name: `conclave ${group}`,
          // Each server has its share: one that is silent must not keep the others from being asked.
          timeout: limitMs / hosts.length,
          reconnect: false,
        }),
      )
      const ask = createRequest(nats)
      // A server that comes back may be another, or have been set up differently.
      found = inspect(await openBucket(ask, stream, isMade ? null : bucket, place, signal), place, acceptWeak)
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

  /** The outer time limit is the caller's; this one only frees what the client remembers of the request. */
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
    facts = await line.use(AbortSignal.timeout(OPEN_TIMEOUT_MS), async (connected) => connected.facts)
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
    if (message === undefined)
      throw new Error(`${place}: ${error?.description ?? 'no message in the answer'}`)
    const body = Buffer.from(message.data ?? '', 'base64').toString()
    // A key that was deleted leaves an empty message with a mark; nothing that is written here is empty.
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
        throw new Error(`${place}: ${error?.description ?? 'the bucket says nothing about itself'}`)
      const cells = await Promise.all(
        Object.keys(state.subjects ?? {}).map((subject) => get(subject, signal)),
      )
      return cells.filter((cell) => cell !== null)
    },
    write: (name, body, expected, signal) => put(name, body, expected ?? '0', signal),
    async remove(name, expected, signal) {
      await put(name, '', expected, signal, true)
    },
    close: () => line.close(),
  }
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

/** Requests that wait for an answer are rejected. */
function end(nats: NatsConnection): void {
  nats.close().catch(() => {})
}

/** Where there is none, one is made with this name, as `nats kv add` makes one, but without direct access. */
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
    // Another node was faster.
    if (info.error !== undefined) info = await request<Info>(`$JS.API.STREAM.INFO.${stream}`, '', signal)
  }
  if (info.config === undefined)
    throw new StoreAccessDeniedError(
      `${place}: the bucket cannot be used or made: ${info.error?.description ?? 'no answer'}`,
    )
  return info.config
}

function inspect(config: NonNullable<Info['config']>, place: string, acceptWeak: boolean): StoreFacts {
  const refuse = (why: string): UnsuitableStoreError =>
    new UnsuitableStoreError(`${place} cannot hold registers: ${why}`)
  if (config.allow_direct === true)
    throw refuse('it allows direct access, which may return old values; make one with allow_direct=false')
  if (config.storage !== 'file') throw refuse('it is kept in memory; make one with storage file')
  if (config.max_age !== 0) throw refuse('its values expire; make one without a time to live')
  if (config.discard !== 'new') throw refuse('it drops old values when it is full; make one with discard new')
  const replicas = config.num_replicas
  const problem = `it has ${replicas} replicas: a leader of the stream that has just been deposed may answer old values; make one with a single replica`
  if (replicas > 1 && !acceptWeak)
    throw refuse(
      `${problem}. With acceptWeak (--accept-weak) it is used all the same, and two may then lead in one epoch`,
    )
  return {
    kind: 'nats',
    place,
    sound: [
      'a write compares the revision of the key',
      'reads are answered by the leader of the stream, never directly',
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
