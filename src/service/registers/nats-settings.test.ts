/** What the settings of a bucket say about it, with a client that the test plays: no server is needed. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openNats } from './nats.ts'

type Sent = { readonly subject: string; readonly body: string; readonly headers: { [name: string]: string } }

const server = vi.hoisted(() => ({
  sent: [] as { subject: string; body: string; headers: { [name: string]: string } }[],
  answer: (() => ({})) as (subject: string, body: string) => unknown,
  options: [] as { [name: string]: unknown }[],
  closed: 0,
}))

vi.mock('@nats-io/transport-node', () => ({
  headers: () => {
    const set: { [name: string]: string } = {}
    return { values: set, set: (name: string, value: string) => (set[name] = value) }
  },
  connect: async (options: { [name: string]: unknown }) => {
    server.options.push(options)
    return {
      closed: () => new Promise(() => {}),
      close: async () => void (server.closed += 1),
      request: async (
        subject: string,
        body: string,
        more: { headers?: { values: { [name: string]: string } } },
      ) => {
        server.sent.push({ subject, body, headers: more.headers?.values ?? {} })
        const answer = server.answer(subject, body)
        if (answer instanceof Error) throw answer
        return { json: () => answer }
      },
    }
  },
}))

const CONFIG = { storage: 'file', num_replicas: 1, allow_direct: false, max_age: 0, discard: 'new' }
const OPTIONS = { url: 'nats://me:secret@n1:4222,n2', bucket: 'b', acceptWeak: false }
const SIGNAL = new AbortController().signal
const INFO = '$JS.API.STREAM.INFO.KV_b'
const CREATE = '$JS.API.STREAM.CREATE.KV_b'

beforeEach(() => {
  server.sent.length = 0
  server.options.length = 0
  server.closed = 0
  server.answer = () => ({ config: CONFIG })
})

const failure = (change: Partial<typeof OPTIONS> = {}): Promise<unknown> =>
  openNats({ ...OPTIONS, ...change }, 'g').catch((error: unknown) => error)

describe('a bucket', () => {
  it.each<[object, string]>([
    [{ allow_direct: true }, 'it allows direct access, which can return stale values'],
    [{ storage: 'memory' }, 'it is stored in memory; create a bucket with file storage'],
    [{ max_age: 3_600_000_000_000 }, 'its values expire; create a bucket without a TTL'],
    [{ discard: 'old' }, 'it drops old values when it is full; create a bucket with discard new'],
  ])('with %j is refused, even with acceptWeak', async (change, why) => {
    server.answer = () => ({ config: { ...CONFIG, ...change } })
    expect(await failure({ acceptWeak: true })).toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining(`cannot hold registers: ${why}`),
    })
    expect(server.closed).toBe(1)
  })

  it('with replicas is refused, or listed as weak with acceptWeak', async () => {
    server.answer = () => ({ config: { ...CONFIG, num_replicas: 3 } })
    const problem = 'it has 3 replicas: a deposed leader of the stream can return stale values'
    expect(await failure()).toMatchObject({ message: expect.stringContaining(problem) })
    const { facts } = await openNats({ ...OPTIONS, acceptWeak: true }, 'g')
    expect(facts.weak).toEqual([expect.stringContaining(problem)])
  })

  it('is created without direct access if it is missing', async () => {
    let isMade = false
    server.answer = (subject) => {
      if (subject === CREATE) isMade = true
      return isMade
        ? { config: CONFIG }
        : { error: { err_code: 10_059, code: 404, description: 'no stream' } }
    }
    const { facts } = await openNats(OPTIONS, 'g')
    expect(facts.place).toBe('nats://me:***@n1:4222,n2, bucket b')
    const created = server.sent.find(({ subject }) => subject === CREATE)
    expect(JSON.parse(created?.body ?? '')).toMatchObject({
      name: 'KV_b',
      subjects: ['$KV.b.>'],
      storage: 'file',
      num_replicas: 1,
      allow_direct: false,
      discard: 'new',
      max_age: 0,
    })
  })

  it('that another node creates at the same moment is used', async () => {
    let asked = 0
    server.answer = (subject) => {
      if (subject === CREATE) return { error: { code: 400, description: 'already in use' } }
      asked += 1
      return asked === 1
        ? { error: { err_code: 10_059, code: 404, description: 'none' } }
        : { config: CONFIG }
    }
    expect((await openNats(OPTIONS, 'g')).facts.kind).toBe('nats')
    expect(server.sent.map(({ subject }) => subject)).toEqual([INFO, CREATE, INFO])
  })

  it('that may be neither used nor created is denied, with the reason', async () => {
    server.answer = () => ({ error: { code: 403, description: 'insufficient permissions' } })
    expect(await failure()).toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('cannot use or create the bucket: insufficient permissions'),
    })
  })
})

describe('the connection', () => {
  it.each<[string, object]>([
    ['nats://me:secret@n1:4222,n2', { servers: ['nats://n1:4222', 'nats://n2'], user: 'me', pass: 'secret' }],
    ['tls://token@n1', { servers: ['tls://n1'], token: 'token', tls: {} }],
    ['nats://n1', { servers: ['nats://n1'] }],
  ])('to %s has its servers and credentials, and no reconnection of its own', async (url, expected) => {
    await openNats({ ...OPTIONS, url }, 'g')
    const { name, timeout, reconnect, ...rest } = server.options[0] ?? {}
    expect([name, reconnect, rest]).toEqual(['conclave g', false, expected])
    // Each server has a share of the time.
    expect(timeout).toBe(5000 / (expected as { servers: string[] }).servers.length)
  })

  it.each<[string, string, string, string]>([
    [
      'AuthorizationError',
      'Authorization Violation',
      'StoreAccessDeniedError',
      'the rights to $JS.API.> and $KV.>',
    ],
    ['PermissionViolationError', 'x', 'StoreAccessDeniedError', 'refuses: x'],
    [
      'NoRespondersError',
      'no responders',
      'UnsuitableStoreError',
      'runs without JetStream; start it with -js',
    ],
    ['TimeoutError', 'timeout', 'StoreUnreachableError', 'timeout'],
  ])('that fails with a %s', async (kind, text, name, message) => {
    server.answer = () => Object.assign(new Error(text), { name: kind })
    expect(await failure()).toMatchObject({ name, message: expect.stringContaining(message) })
  })
})

describe('cells', () => {
  const last = (): Sent | undefined => server.sent.at(-1)
  const encoded = (text: string): string => Buffer.from(text).toString('base64')

  it('are read one by one from the leader of the stream; deleted keys are left out', async () => {
    const store = await openNats(OPTIONS, 'a.b')
    server.answer = (subject, body) => {
      if (subject === INFO)
        return { state: { subjects: { '$KV.b.a=2Eb.b_1': 1, '$KV.b.a=2Eb.b_2': 1, '$KV.b.a=2Eb.b_3': 1 } } }
      const { last_by_subj: asked } = JSON.parse(body) as { last_by_subj: string }
      if (asked.endsWith('b_2')) return { message: { seq: 8, data: '' } }
      if (asked.endsWith('b_3')) return { error: { err_code: 10_037, code: 404, description: 'no message' } }
      return { message: { seq: 7, data: encoded('größe') } }
    }
    expect(await store.read(SIGNAL)).toEqual([{ name: 'b_1', version: '7', body: 'größe' }])
    expect(server.sent.filter(({ subject }) => subject === '$JS.API.STREAM.MSG.GET.KV_b')).toHaveLength(3)
  })

  it.each<[string | null, string]>([
    [null, '0'],
    ['7', '7'],
  ])('are written if their revision is %j', async (expected, header) => {
    const store = await openNats(OPTIONS, 'g')
    server.answer = () => ({ seq: 9 })
    expect(await store.write('b_1', 'body', expected, SIGNAL)).toBe('9')
    expect(last()).toEqual({
      subject: '$KV.b.g.b_1',
      body: 'body',
      headers: { 'Nats-Expected-Last-Subject-Sequence': header },
    })
  })

  it('are not written over another revision; other refusals are errors', async () => {
    const store = await openNats(OPTIONS, 'g')
    server.answer = () => ({ error: { err_code: 10_071, code: 400, description: 'wrong last sequence' } })
    expect(await store.write('b_1', 'body', '3', SIGNAL)).toBeNull()
    server.answer = () => ({ error: { code: 503, description: 'maximum bytes exceeded' } })
    await expect(store.write('b_1', 'body', '3', SIGNAL)).rejects.toThrow('bucket b: maximum bytes exceeded')
    server.answer = () => ({})
    await expect(store.write('b_1', 'body', '3', SIGNAL)).rejects.toThrow('the write was not acknowledged')
    await expect(store.read(SIGNAL)).rejects.toThrow('the reply has no information about the bucket')
  })

  it('are removed by a marker that compares the revision', async () => {
    const store = await openNats(OPTIONS, 'g')
    server.answer = () => ({ seq: 9 })
    await store.remove('b_1', '4', SIGNAL)
    expect(last()).toEqual({
      subject: '$KV.b.g.b_1',
      body: '',
      headers: { 'Nats-Expected-Last-Subject-Sequence': '4', 'KV-Operation': 'DEL' },
    })
  })
})
