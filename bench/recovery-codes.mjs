// Encoding and decoding of columns, beside a copy of the same bytes and a Reed-Solomon code in WebAssembly.
//
// Our codes are measured in turns, in one process. The WebAssembly code follows: creating its instances keeps other
// threads busy for a while, which would count as CPU time of the others. A figure is the median of ROUNDS, in megabytes
// (10^6 bytes) of payload per second. Ratios and targets are of CPU time, the time that a core works: on a busy machine,
// long runs are interrupted and short ones are not, so elapsed time compares nothing.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { crc32 } from 'node:zlib'
import {
  CHECKSUMS,
  createEvenOdd,
  createReedSolomon,
  decodeHeader,
  decodePayload,
  encodePayload,
  StripeDecoder,
  StripeEncoder,
} from '../dist/recovery/codes/index.js'

const COLUMN_BYTES = 1024 * 1024
const DATA_COLUMNS = 5
const COLUMNS = 7
const LOST = [1, 3]
const PAYLOAD_BYTES = DATA_COLUMNS * COLUMN_BYTES
const WARM_UP_ROUNDS = 5
const ROUNDS = 31
const LEAST_ENCODING = 400
const LEAST_DECODING = LEAST_ENCODING / 2

/** The package's ES module cannot find its own file; its CommonJS module can. */
const require = createRequire(import.meta.url)
const { ReedSolomonErasure } = require('@digitaldefiance/reed-solomon-erasure.wasm')

const OWNER = { job: 'bench', epoch: 1, view: 1 }
const NATIVE = { ...CHECKSUMS, crc32 }
const COPY = 'memcpy (Buffer.copy)'
const WASM = 'Reed-Solomon in WebAssembly'

function createPayload() {
  const payload = Buffer.alloc(PAYLOAD_BYTES)
  for (let i = 0, x = 12345; i < payload.length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0
    payload[i] = x >>> 24
  }
  return payload
}

const withHoles = (columns) => columns.map((column, number) => (LOST.includes(number) ? null : column))

/** Encoding and decoding two lost data columns. Throws unless the lost columns are recovered. */
function codeContenders(name, code, data) {
  const columns = [...data, ...code.encode(data)]
  const holes = withHoles(columns)
  for (const number of LOST) {
    if (Buffer.compare(code.reconstruct(holes)[number], data[number]) !== 0)
      throw new Error(`${name} does not recover column ${number}`)
  }
  return [
    [`encode   ${name}`, () => code.encode(data)],
    [`decode   ${name}`, () => code.reconstruct(holes)],
  ]
}

/**
 * The package's second `reconstruct` on one instance fails with RESULT_ERROR_TOO_FEW_SHARDS_PRESENT for any input.
 * So every decoding gets an instance of its own. It is created outside the measured time, and encodes once there: its
 * memory has then the size that decoding needs.
 */
async function wasmContenders(data) {
  const encoding = await ReedSolomonErasure.fromCurrentDirectory()
  const bytes = readFileSync(require.resolve('@digitaldefiance/reed-solomon-erasure.wasm/wasm'))
  const shards = new Uint8Array(COLUMNS * COLUMN_BYTES)
  for (const [number, column] of data.entries()) shards.set(column, number * COLUMN_BYTES)
  const parity = COLUMNS - DATA_COLUMNS
  const present = Array.from({ length: COLUMNS }, (_, number) => !LOST.includes(number))
  const check = (result) => {
    if (result !== ReedSolomonErasure.RESULT_OK) throw new Error(`${WASM} failed with ${result}`)
  }
  let decoding = encoding
  const encode = () => check(encoding.encode(shards, DATA_COLUMNS, parity))
  const decode = () => check(decoding.reconstruct(shards, DATA_COLUMNS, parity, present))
  const prepare = () => {
    decoding = ReedSolomonErasure.fromBytes(bytes)
    check(decoding.encode(shards, DATA_COLUMNS, parity))
  }
  prepare()
  encode()
  for (const number of LOST) shards.fill(0, number * COLUMN_BYTES, (number + 1) * COLUMN_BYTES)
  decode()
  for (const number of LOST) {
    const recovered = shards.subarray(number * COLUMN_BYTES, (number + 1) * COLUMN_BYTES)
    if (Buffer.compare(recovered, data[number]) !== 0)
      throw new Error(`${WASM} does not recover column ${number}`)
  }
  return [
    [`encode   ${WASM}`, encode],
    [`decode   ${WASM}`, decode, prepare],
  ]
}

/** Whole columns with headers and checksums, stripe by stripe. */
function columnContenders(name, checksum, checksums, payload) {
  const code = createEvenOdd(COLUMNS)
  const stored = withHoles(encodePayload(code, OWNER, payload, { checksum, checksums }))
  if (Buffer.compare(decodePayload(stored, checksums).payload, payload) !== 0)
    throw new Error('the columns do not give the payload back')
  const headers = stored.filter((column) => column !== null).map((column) => decodeHeader(column, checksums))
  return [
    [
      `encode   EVENODD, columns with ${name}`,
      () => {
        const encoder = new StripeEncoder(code, OWNER, payload.length, { checksum, checksums })
        if ([...encoder.push(payload)].length !== encoder.layout.stripes)
          throw new Error('stripes are missing')
      },
    ],
    [
      `decode   EVENODD, columns with ${name}`,
      () => {
        const decoder = new StripeDecoder(headers, checksums)
        for (let stripe = 0; stripe < decoder.layout.stripes; stripe++) {
          const { start, length } = decoder.frameRange(stripe)
          const frames = stored.map((column) => column?.subarray(start, start + length) ?? null)
          decoder.decodeStripe(stripe, frames)
        }
      },
    ],
  ]
}

/**
 * The median rate of each contender in MB/s, by name. A contender is its name, what is measured, and what goes before.
 * CPU time is that of all threads of the process, with the compiler and the garbage collector.
 */
function measure(contenders) {
  const times = new Map(contenders.map(([name]) => [name, { elapsed: [], cpu: [] }]))
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [name, run, prepare] of contenders) {
      prepare?.()
      const cpuBefore = process.cpuUsage()
      const began = performance.now()
      run()
      const elapsed = performance.now() - began
      const { user, system } = process.cpuUsage(cpuBefore)
      if (round < 0) continue
      times.get(name).elapsed.push(elapsed)
      times.get(name).cpu.push((user + system) / 1000)
    }
  }
  const medianRate = (list) => PAYLOAD_BYTES / 1000 / list.sort((a, b) => a - b)[list.length >> 1]
  return new Map(
    [...times].map(([name, { elapsed, cpu }]) => [
      name,
      { elapsed: medianRate(elapsed), cpu: medianRate(cpu) },
    ]),
  )
}

function hold(what, { elapsed, cpu }, least) {
  console.log(
    `${cpu >= least ? 'kept  ' : 'MISSED'}  ${what} at least ${least} MB/s on one core: ${cpu.toFixed(0)} (elapsed time: ${elapsed.toFixed(0)})`,
  )
}

export async function printCodes() {
  const payload = createPayload()
  const copy = Buffer.alloc(PAYLOAD_BYTES)
  const data = Array.from({ length: DATA_COLUMNS }, (_, number) =>
    Uint8Array.from(payload.subarray(number * COLUMN_BYTES, (number + 1) * COLUMN_BYTES)),
  )
  const ours = measure([
    [COPY, () => payload.copy(copy)],
    ...codeContenders('EVENODD p=5', createEvenOdd(COLUMNS), data),
    ...codeContenders('Reed-Solomon (7, 5)', createReedSolomon(COLUMNS, DATA_COLUMNS), data),
    ['checksum CRC-32C', () => CHECKSUMS.crc32c(payload)],
    ['checksum CRC-32 of zlib', () => crc32(payload)],
    ...columnContenders('CRC-32C', 'crc32c', CHECKSUMS, payload),
    ...columnContenders('CRC-32 of zlib', 'crc32', NATIVE, payload),
  ])
  const theirs = (await wasmContenders(data)).flatMap((contender) => [...measure([contender])])
  const rates = new Map([...ours, ...theirs])
  console.log(
    `columns of 1 MiB, ${DATA_COLUMNS} of data and 2 of parity; decoding computes 2 lost data columns; MB/s of payload; ${ROUNDS} rounds`,
  )
  console.log(`${''.padEnd(45)}elapsed  CPU time  of memcpy  of WebAssembly`)
  for (const [name, { elapsed, cpu }] of rates) {
    const wasm = rates.get(`${name.slice(0, 8)} ${WASM}`)
    const figures = [
      elapsed.toFixed(0).padStart(8),
      cpu.toFixed(0).padStart(8),
      `${((100 * cpu) / rates.get(COPY).cpu).toFixed(1)} %`.padStart(9),
      wasm === undefined ? '' : `${(cpu / wasm.cpu).toFixed(2)} x`.padStart(14),
    ]
    console.log(`${name.padEnd(44)}${figures.join('  ')}`.trimEnd())
  }
  hold('encoding EVENODD p=5', rates.get('encode   EVENODD p=5'), LEAST_ENCODING)
  hold('decoding EVENODD p=5, two data columns lost', rates.get('decode   EVENODD p=5'), LEAST_DECODING)
}
