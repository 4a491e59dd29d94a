/**
 * Registers in a bucket of S3 or a compatible store: one object per cell, compared by its ETag (`If-Match`,
 * `If-None-Match`). Each request is sent once: a retry by the client would be a delayed write.
 *
 * A store without conditional writes ignores the condition and overwrites. So the conditions are tested when the store is
 * opened. Reading all cells takes two round trips: a listing, then all objects in parallel.
 */

import type { AwsClient } from 'aws4fetch'
import { ASSUMPTIONS } from './assumptions.ts'
import { Backoff } from './connection.ts'
import { StoreAccessDeniedError, StoreUnreachableError, UnsuitableStoreError } from './errors.ts'
import { HttpClient, type HttpReply } from './http-client.ts'
import { type Cell, type CellStore, safeName } from './store.ts'
import { loadClient } from './urls.ts'

export type S3Options = {
  readonly bucket: string
  /** Prefix of its keys. */
  readonly prefix: string
  readonly region: string
  /** For a store other than Amazon's; the bucket is then part of the path. */
  readonly endpoint?: string | undefined
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

const TRIAL_MS = 10_000
const TRIAL = 'trial-of-conditions'
const PRECONDITION_FAILED = 412
const NOT_FOUND = 404

type Init = {
  readonly method?: string
  readonly body?: string
  readonly headers?: { readonly [name: string]: string }
}
type Condition = { readonly 'if-match': string } | { readonly 'if-none-match': '*' }

export async function openS3(options: S3Options, group: string): Promise<CellStore> {
  const { AwsClient: Client } = await loadClient('s3', 'aws4fetch', () => import('aws4fetch'))
  const { bucket, region, endpoint, accessKeyId, secretAccessKey, sessionToken } = options
  const client: AwsClient = new Client({
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    region,
    service: 's3',
    retries: 0,
  })
  const root =
    endpoint === undefined
      ? `https://${bucket}.s3.${region}.amazonaws.com`
      : `${endpoint.replace(/\/$/, '')}/${bucket}`
  const start = `${options.prefix === '' ? '' : `${options.prefix}/`}${safeName(group)}/`
  const place = `s3 bucket ${bucket}, keys ${start}${endpoint === undefined ? '' : ` at ${endpoint}`}`

  const http = new HttpClient()
  const backoff = new Backoff()

  async function ask(path: string, init: Init, signal: AbortSignal): Promise<HttpReply> {
    backoff.check()
    const { method = 'GET', body = '', headers = {} } = init
    const signed = await client.sign(`${root}/${path}`, { method, headers, ...(body === '' ? {} : { body }) })
    let reply: HttpReply
    try {
      const request = { method, url: new URL(signed.url), headers: Object.fromEntries(signed.headers), body }
      reply = await http.send(request, signal)
    } catch (error) {
      const failure = new StoreUnreachableError(place, error)
      backoff.recordFailure(failure)
      throw failure
    }
    backoff.reset()
    const { status } = reply
    if ((status >= 200 && status < 300) || status === PRECONDITION_FAILED || status === NOT_FOUND)
      return reply
    const said = /<Message>(.*?)<\/Message>/.exec(reply.body)?.[1] ?? `it answered ${status}`
    if (status === 401 || status === 403)
      throw new StoreAccessDeniedError(
        `${place} refuses: ${said} (check the keys, and the rights s3:GetObject, s3:PutObject, s3:ListBucket)`,
      )
    throw new Error(`${place}: ${said}`)
  }

  const keyOf = (name: string): string => encodeURI(`${start}${name}`)

  async function put(
    name: string,
    body: string,
    condition: Condition,
    signal: AbortSignal,
  ): Promise<string | null> {
    const response = await ask(keyOf(name), { method: 'PUT', body, headers: condition }, signal)
    if (response.status === PRECONDITION_FAILED) return null
    if (response.status === NOT_FOUND) {
      if ('if-match' in condition) return null
      throw new StoreAccessDeniedError(`${place}: the bucket does not exist`)
    }
    const tag = response.headers.etag
    if (tag === undefined)
      throw new UnsuitableStoreError(`${place} returns no ETag: it cannot hold registers`)
    return tag
  }

  async function list(signal: AbortSignal): Promise<readonly string[]> {
    const names: string[] = []
    let more = ''
    do {
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const response = await ask(`?list-type=2&prefix=${encodeURIComponent(start)}${more}`, {}, signal)
      const page = response.body
      if (response.status === NOT_FOUND)
        throw new StoreAccessDeniedError(`${place}: the bucket does not exist`)
      for (const [, key = ''] of page.matchAll(/<Key>(.*?)<\/Key>/g)) names.push(key.slice(start.length))
      const next = /<NextContinuationToken>(.*?)<\/NextContinuationToken>/.exec(page)?.[1]
      more = next === undefined ? '' : `&continuation-token=${encodeURIComponent(next)}`
    } while (more !== '')
    return names.filter((name) => name !== TRIAL)
  }

  async function get(name: string, signal: AbortSignal): Promise<Cell> {
    const response = await ask(keyOf(name), {}, signal)
    // It was listed a moment ago, and blocks are never deleted.
    if (response.status === NOT_FOUND) throw new Error(`${place}: ${name} is listed but missing`)
    return { name, version: response.headers.etag ?? '', body: response.body }
  }

  async function remove(name: string, signal: AbortSignal): Promise<void> {
    await ask(keyOf(name), { method: 'DELETE' }, signal)
  }

  async function tryConditions(): Promise<void> {
    const signal = AbortSignal.timeout(TRIAL_MS)
    const first = await put(TRIAL, 'a', { 'if-none-match': '*' }, signal)
    const second = await put(TRIAL, 'b', { 'if-none-match': '*' }, signal)
    const third = await put(TRIAL, 'c', { 'if-match': '"0123456789abcdef0123456789abcdef"' }, signal)
    // Another node may run the same test concurrently and have removed the object.
    if (first !== null && (second !== null || third !== null))
      throw new UnsuitableStoreError(
        `${place} ignores the conditions If-None-Match and If-Match: a delayed write would overwrite a newer one. It cannot hold registers`,
      )
    if (first !== null) await remove(TRIAL, signal)
  }
  try {
    await tryConditions()
  } catch (error) {
    http.close()
    throw error
  }

  return {
    facts: {
      kind: 's3',
      place,
      sound: ['a write compares the ETag (tested when the store was opened)', 'each request is sent once'],
      weak: [],
      assumed: ASSUMPTIONS.s3,
    },
    async read(signal) {
      const names = await list(signal)
      return Promise.all(names.map((name) => get(name, signal)))
    },
    write: (name, body, expected, signal) =>
      put(name, body, expected === null ? { 'if-none-match': '*' } : { 'if-match': expected }, signal),
    remove: (name, _expected, signal) => remove(name, signal),
    async close() {
      http.close()
    },
  }
}
