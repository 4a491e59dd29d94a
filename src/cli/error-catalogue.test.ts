/** Every code in the error catalogue is produced here, by the code that produces it in production. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recoveryProducers } from '../../test/support/recovery-errors.ts'
import { assert, type Plain } from '../core/index.ts'
import { catalogue } from '../protocols/index.ts'
import { checkedStable } from '../protocols/local-leader/stable.ts'
import { listen } from '../service/agent/listen.ts'
import { getStatus } from '../service/client/index.ts'
import { parseConfig } from '../service/config/file.ts'
import { openFenced } from '../service/fencing/file.ts'
import { ElectionThread } from '../service/node/election/worker-thread.ts'
import { type ConclaveNode, join } from '../service/node/index.ts'
import { blockName, encodeBlock } from '../service/registers/block.ts'
import { openFile } from '../service/registers/file.ts'
import {
  type CellStore,
  openRegisters,
  openStore,
  parseStore,
  type Registers,
} from '../service/registers/index.ts'
import { type Memory, openMemory } from '../service/registers/memory.ts'
import { loadClient } from '../service/registers/urls.ts'
import { DividedStorage, lockFolder, memoryStorage, openStorage, sealer } from '../service/runtime/index.ts'
import { type Testkit, testkit } from '../service/testkit/index.ts'
import { parseScenario, World } from '../workbench/sim/index.ts'
import { drawTrace, readTrace } from '../workbench/trace/index.ts'
import { ERROR_CATALOGUE, exitCodeOf } from './error-catalogue.ts'
import { EXIT, UsageError } from './errors.ts'

let folder: string
let node: ConclaveNode
let kit: Testkit

beforeAll(async () => {
  folder = mkdtempSync(pathJoin(tmpdir(), 'conclave-errors-'))
  kit = testkit({ nodes: ['a'] })
  node = await kit.join('a')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const NEVER = new AbortController().signal
const at = (...names: readonly string[]): string => pathJoin(folder, ...names)
const made = (name: string): string => {
  mkdirSync(at(name), { recursive: true })
  return at(name)
}
const registersIn = (store: CellStore, self: string): Registers =>
  openRegisters(store, { self, timeoutMs: 1000, probeMs: 0 })
const FILE = { kind: 'file', path: '', mode: 'rename' } as const

/** Throws the error of an outcome that failed. */
async function failure(
  outcome: Promise<{ readonly outcome: string; readonly error?: Error }>,
): Promise<void> {
  const { error } = await outcome
  if (error !== undefined) throw error
}

const raw = (memory: Memory, name: string, body: string): Promise<unknown> =>
  openMemory(memory, 'g').write(blockName(name), body, null, NEVER)
const block = (id: string, sequence: number, value: Plain = null, removed = false): string =>
  encodeBlock({ id, incarnation: 1, sequence, holder: null, removed, value })

/** How each error is produced. Each is called once. */
const PRODUCERS: { readonly [code: string]: () => unknown } = {
  ERR_CONCLAVE_LEADERSHIP_LOST: async () => {
    const own = testkit({ nodes: ['a'] })
    const leader = await own.join('a')
    let reason: unknown
    void leader.lead(
      (term) =>
        new Promise((resolve) => {
          term.signal.addEventListener('abort', () => {
            reason = term.signal.reason
            resolve()
          })
        }),
    )
    await own.until(() => own.leaders.length > 0)
    const stepping = leader.stepDown()
    await own.advance(10)
    await stepping
    throw reason
  },
  ERR_CONCLAVE_INVALID_OPTIONS: () => join({} as never),
  ERR_CONCLAVE_INVALID_ARGUMENT: () => node.lead('work' as never),
  ERR_CONCLAVE_ALREADY_LEADING: () => {
    void node.lead(() => {})
    return node.lead(() => {})
  },
  ERR_CONCLAVE_NODE_CLOSED: async () => {
    const own = testkit({ nodes: ['a'] })
    const closed = await own.join('a')
    const closing = closed.close()
    await own.advance(10)
    await closing
    return closed.setPriority(1)
  },
  ERR_CONCLAVE_COMMAND_REFUSED: () => node.setPriority(0.5),
  ERR_CONCLAVE_WORKER_LOST: async () => {
    writeFileSync(at('worker.cjs'), '')
    let onLost: (error: Error) => void = () => {}
    const lost = new Promise<never>((_, reject) => {
      onLost = reject
    })
    const thread = ElectionThread.at(null, onLost, { file: pathToFileURL(at('worker.cjs')) })
    await lost.finally(() => thread.leave(onLost))
  },
  ERR_CONCLAVE_STORE_FAILED: async () => {
    const options = { group: 'g', protocol: 'epochs', store: { ...FILE, path: made('failed') } } as const
    await using a = await join({ ...options, id: 'a', isolation: 'thread' })
    const leading = a.lead(() => new Promise(() => {}))
    const other = await openFile({ path: at('failed'), mode: 'rename' }, 'g')
    await other.write(blockName('b'), block('b', 1, 'nonsense'), null, NEVER)
    await other.close()
    await leading
  },
  ERR_CONCLAVE_INVALID_KEY: () => sealer([new Uint8Array(3)], false),
  ERR_CONCLAVE_STORAGE_IN_USE: async () => {
    const first = await openStorage(made('used'))
    await openStorage(at('used')).finally(() => first.close())
  },
  ERR_CONCLAVE_STORAGE_LOCK: () => lockFolder('/proc'),
  ERR_CONCLAVE_STORAGE_FAILED: async () => {
    const storage = await openStorage(made('failing'))
    rmSync(at('failing'), { recursive: true })
    try {
      storage.save({ layer: 1, upper: null })
    } finally {
      storage.close()
    }
  },
  ERR_CONCLAVE_UNUSABLE_FOLDER: () => {
    writeFileSync(at('a file'), '')
    return openStorage(at('a file', 'inside'))
  },
  ERR_CONCLAVE_DAMAGED_STORAGE: async () => {
    const storage = await openStorage(made('damaged'))
    storage.save({ layer: 1, upper: null })
    const file = readdirSync(at('damaged')).find((name) => !name.startsWith('lock.')) ?? ''
    writeFileSync(at('damaged', file), `${readFileSync(at('damaged', file), 'utf8')}x`)
    try {
      storage.load()
    } finally {
      storage.close()
    }
  },
  ERR_CONCLAVE_CORRUPT_STABLE_DATA: () => checkedStable('nonsense'),
  ERR_CONCLAVE_LATER_INCARNATION: () => {
    const storage = new DividedStorage(() => 1000)
    const later = memoryStorage()
    later.save({ layer: 2 ** 40, upper: null })
    storage.add('one', memoryStorage())
    storage.save({ layer: 1, upper: {} })
    return storage.add('two', later)
  },
  ERR_CONCLAVE_UNUSABLE_INCARNATION: () => {
    const stored = memoryStorage()
    stored.save({ layer: -1, upper: null })
    return new DividedStorage().add('g', stored)
  },
  ERR_CONCLAVE_ASSERTION_FAILED: () => assert(false, 'impossible'),
  ERR_CONCLAVE_INVALID_STORE: () => parseStore('ftp://h'),
  ERR_CONCLAVE_MISSING_CLIENT: () =>
    loadClient('redis', 'ioredis', () =>
      Promise.reject(Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })),
    ),
  ERR_CONCLAVE_STORE_UNREACHABLE: () => openStore(parseStore('etcd://127.0.0.1:9'), 'g', 500),
  ERR_CONCLAVE_STORE_ACCESS_DENIED: () => {
    writeFileSync(at('plain'), '')
    return openFile({ path: at('plain', 'x'), mode: 'rename' }, 'g')
  },
  ERR_CONCLAVE_UNSUITABLE_STORE: () =>
    openFile({ path: made('nfs'), mode: 'sector' }, 'g', async () => ({ type: 0x6969, options: [] })),
  ERR_CONCLAVE_ID_IN_USE: async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => openFile({ path: made('ids'), mode: 'sector' }, 'g')),
    )
    const first = registersIn(one as CellStore, 'a')
    expect(await first.claim()).toMatchObject({ outcome: 'ok' })
    await failure(registersIn(two as CellStore, 'a').claim()).finally(() => first.close())
  },
  ERR_CONCLAVE_CELL_LOCKED: async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => openFile({ path: made('cells'), mode: 'sector' }, 'g')),
    )
    await one?.write(blockName('a'), 'x', null, NEVER)
    await two?.write(blockName('a'), 'y', null, NEVER).finally(() => one?.close())
  },
  ERR_CONCLAVE_SUPERSEDED: async () => {
    const memory: Memory = new Map()
    const first = registersIn(openMemory(memory, 'g'), 'a')
    await first.claim()
    await registersIn(openMemory(memory, 'g'), 'a').claim()
    await failure(first.write({ ctr: 1 }))
  },
  ERR_CONCLAVE_NODE_REMOVED: async () => {
    const memory: Memory = new Map()
    await raw(memory, 'a', block('a', 1, null, true))
    await failure(registersIn(openMemory(memory, 'g'), 'a').claim())
  },
  ERR_CONCLAVE_CORRUPT_BLOCK: async () => {
    const memory: Memory = new Map()
    await raw(memory, 'a', 'nonsense')
    await failure(registersIn(openMemory(memory, 'g'), 'a').claim())
  },
  ERR_CONCLAVE_UNSUPPORTED_FORMAT: async () => {
    const memory: Memory = new Map()
    await raw(memory, 'a', 'conclave-register 2 anything {}')
    await failure(registersIn(openMemory(memory, 'g'), 'a').claim())
  },
  ERR_CONCLAVE_STORE_ROLLED_BACK: async () => {
    const memory: Memory = new Map()
    await raw(memory, 'b', block('b', 4))
    const registers = registersIn(openMemory(memory, 'g'), 'a')
    await registers.claim()
    await registers.readAll()
    memory.get('g')?.delete(blockName('b'))
    await failure(registers.readAll())
  },
  ERR_CONCLAVE_BLOCK_TOO_LARGE: () => block('a', 1, 'x'.repeat(500)),
  ERR_CONCLAVE_STALE_TOKEN: async () => {
    const file = await openFenced(at('fenced'))
    await file.append(5, 'new')
    await file.append(4, 'old').finally(() => file.close())
  },
  ERR_CONCLAVE_IMPLAUSIBLE_TOKEN: async () => {
    const file = await openFenced(at('fenced'))
    await file.append(2 ** 50, 'far ahead').finally(() => file.close())
  },
  ERR_CONCLAVE_USAGE: () => {
    throw new UsageError('--nodes: must be a number')
  },
  ERR_CONCLAVE_INVALID_CONFIG: () => parseConfig('conclave.yaml', 'grup: g'),
  ERR_CONCLAVE_CANNOT_LISTEN: async () => {
    const server = await listen(() => new Response(), { host: '127.0.0.1', port: 0 })
    const port = Number(new URL(server.url).port)
    await listen(() => new Response(), { host: '127.0.0.1', port }).finally(() => server.close())
  },
  ERR_CONCLAVE_AGENT_UNREACHABLE: () => getStatus({ agent: 'http://127.0.0.1:9' }),
  ERR_CONCLAVE_REQUEST_REFUSED: async () => {
    const server = createServer((_, response) => {
      response.writeHead(409, { 'content-type': 'application/json' })
      response.end('{"error":{"name":"CommandRefusedError","message":"no"}}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await getStatus({ agent: `http://127.0.0.1:${port}` }).finally(() => server.close())
  },
  ERR_CONCLAVE_INVALID_SCENARIO: () => parseScenario({}, catalogue),
  ERR_CONCLAVE_INVALID_TRACE: () => readTrace('nonsense'),
  ERR_CONCLAVE_UNDRAWABLE_TRACE: () =>
    drawTrace({ header: { trace: 1, protocol: 'ring', nodes: [1, 2], options: {}, seed: 0 }, records: [] }, {
      kinds: [],
    } as never),
  ERR_CONCLAVE_RUNAWAY_RUN: () => {
    const scenario = parseScenario({ protocol: 'bully', nodes: [1, 2], untilMs: 1000 }, catalogue)
    const definition = catalogue.find('bully')
    assert(definition !== null, 'bully is in the catalogue')
    new World(definition, scenario, { observe() {}, record: null, maxSteps: 3 }, false).run(1_000_000)
  },
  ERR_CONCLAVE_NODE_CRASHED: async () => {
    const own = testkit({ nodes: ['a'] })
    const crashed = await own.join('a')
    const leading = crashed.lead(() => new Promise(() => {}))
    own.crash('a')
    await leading
  },
  ...recoveryProducers(() => folder),
}

/** Errors that need real child processes, and the test file that produces each. */
const PRODUCED_IN: { readonly [code: string]: string } = {
  ERR_CONCLAVE_GUARDIAN_LOST: '../service/supervise/guardian-process.test.ts',
  ERR_CONCLAVE_COMMAND_FAILED: '../service/supervise/guardian-process.test.ts',
  ERR_CONCLAVE_DIGEST_MISMATCH: '../service/recovery/checkpoints/checkpoints.test.ts',
  ERR_CONCLAVE_PAYLOAD_CHANGED: '../service/recovery/checkpoints/checkpoints.test.ts',
}

describe('the error catalogue', () => {
  it('has an entry for every code in the source, and no other', () => {
    const found = new Set<string>()
    const source = new URL('../', import.meta.url).pathname
    for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts') || name.includes('error-catalogue') || name.endsWith('.test.ts')) continue
      const text = readFileSync(pathJoin(source, name), 'utf8')
      for (const [, code = ''] of text.matchAll(/readonly code = '(ERR_CONCLAVE_\w+)'/g)) found.add(code)
    }
    expect([...found].toSorted()).toEqual(Object.keys(ERROR_CATALOGUE).toSorted())
  })

  it('has a producer for every code', () => {
    const produced = [...Object.keys(PRODUCERS), ...Object.keys(PRODUCED_IN)]
    expect(produced.toSorted()).toEqual(Object.keys(ERROR_CATALOGUE).toSorted())
    for (const [code, file] of Object.entries(PRODUCED_IN)) {
      const { name } = ERROR_CATALOGUE[code] ?? { name: 'missing' }
      expect(readFileSync(new URL(file, import.meta.url), 'utf8')).toContain(name)
    }
  })

  it.each(Object.entries(PRODUCERS))(
    '%s',
    async (code, produce) => {
      let thrown: unknown = null
      try {
        await produce()
      } catch (error) {
        thrown = error
      }
      expect(thrown).toMatchObject({ name: ERROR_CATALOGUE[code]?.name, code })
      expect((thrown as Error).message).not.toBe('')
    },
    30_000,
  )

  it('gives unknown codes the exit code of a failure', () => {
    expect([exitCodeOf('EADDRINUSE'), exitCodeOf(undefined)]).toEqual([EXIT.failure, EXIT.failure])
    expect(exitCodeOf('ERR_CONCLAVE_INVALID_CONFIG')).toBe(EXIT.usage)
  })

  it('names doors that export the class', async () => {
    const entries = Object.values(ERROR_CATALOGUE).filter(({ door }) => door !== null)
    const doors = await Promise.all(entries.map(({ door }) => import(door as string) as Promise<object>))
    expect(entries.filter(({ name }, index) => !(name in (doors[index] as object)))).toEqual([])
  })
})
