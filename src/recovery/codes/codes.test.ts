/** Both codes: known vectors, and every erasure pattern of small ones. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ErasureCode, InvalidCodeInputError, TooManyLostColumnsError } from './code.ts'
import { createEvenOdd, primeFor } from './evenodd.ts'
import { createReedSolomon } from './reed-solomon.ts'

/** Pseudorandom bytes that depend only on the arguments. */
function fill(length: number, seed: number): Uint8Array {
  let state = seed * 2_654_435_761 + 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state >>> 24
  })
}

const createData = (code: ErasureCode, length: number): Uint8Array[] =>
  Array.from({ length: code.dataColumns }, (_, column) => fill(length, column + 1))

/** The numbers of the columns that are not equal. `toEqual` compares byte by byte, which takes seconds here. */
function differences(got: readonly Uint8Array[], wanted: readonly Uint8Array[]): number[] {
  const longer = got.length > wanted.length ? got : wanted
  const isSame = (a?: Uint8Array, b?: Uint8Array) => a && b && Buffer.compare(a, b) === 0
  return [...longer.keys()].filter((number) => !isSame(got[number], wanted[number]))
}

/** All sets of at most `most` of the numbers below `count`. */
function subsets(count: number, most: number): number[][] {
  const found: number[][] = [[]]
  for (let number = 0; number < count; number++)
    for (const set of found.slice()) if (set.length < most) found.push([...set, number])
  return found
}

/** Loses every tolerated set of columns in turn. Returns the number of patterns. */
function checkEveryPattern(code: ErasureCode, length: number): number {
  const data = createData(code, length)
  const columns = [...data, ...code.encode(data)]
  const patterns = subsets(code.columns, code.tolerates)
  for (const lost of patterns) {
    const holes = columns.map((column, number) => (lost.includes(number) ? null : column))
    expect(differences(code.reconstruct(holes), columns), `lost ${lost.join(', ')}`).toEqual([])
  }
  return patterns.length
}

describe('EVENODD', () => {
  it('encodes the vector of p = 3', () => {
    const data = [
      [1, 2],
      [4, 8],
      [16, 32],
    ].map((column) => Uint8Array.from(column))
    expect(createEvenOdd(5).encode(data)).toEqual([Uint8Array.of(21, 42), Uint8Array.of(57, 30)])
  })

  it('encodes the vector of p = 5: a(l, t) = 4t + l + 1', () => {
    const data = Array.from({ length: 5 }, (_, t) => Uint8Array.from({ length: 4 }, (__, l) => 4 * t + l + 1))
    expect(createEvenOdd(7).encode(data)).toEqual([
      Uint8Array.of(17, 18, 19, 4),
      Uint8Array.of(12, 24, 4, 24),
    ])
  })

  it('uses the least odd prime with enough data columns', () => {
    expect([3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 256].map(primeFor)).toEqual([
      3, 3, 3, 5, 5, 7, 7, 11, 11, 13, 257,
    ])
  })

  it.each([
    [3, 5],
    [5, 7],
    [7, 9],
    [11, 13],
  ])('recovers every single and double loss, p = %i', (prime, columns) => {
    const code = createEvenOdd(columns)
    expect(code.rows).toBe(prime - 1)
    // Cells of 8 bytes are combined as words; cells of 3 bytes are not.
    for (const cell of [8, 3]) {
      const patterns = checkEveryPattern(code, cell * code.rows)
      expect(patterns).toBe(1 + columns + (columns * (columns - 1)) / 2)
    }
  })

  it.each([3, 4, 6, 8, 10, 11, 12, 14])('recovers every loss when columns are unused: %i nodes', (nodes) => {
    const code = createEvenOdd(nodes)
    expect(code).toMatchObject({ columns: nodes, dataColumns: nodes - 2, tolerates: 2 })
    expect(checkEveryPattern(code, 8 * code.rows)).toBeGreaterThan(nodes)
  })

  it('computes the same from words and from bytes, in cells longer than a block', () => {
    const code = createEvenOdd(7)
    const length = 4 * 40_008
    const data = createData(code, length)
    const unaligned = data.map((column) => {
      const shifted = new Uint8Array(length + 1).subarray(1)
      shifted.set(column)
      return shifted
    })
    const parity = code.encode(data)
    expect(differences(code.encode(unaligned), parity)).toEqual([])
    const holes = [...data, ...parity].map((column, number) => (number === 1 || number === 3 ? null : column))
    expect(differences(code.reconstruct(holes).slice(0, 5), data)).toEqual([])
  })

  it('recovers any two columns of the largest code', () => {
    const code = createEvenOdd(256)
    const data = createData(code, code.rows)
    const columns = [...data, ...code.encode(data)]
    for (const lost of [
      [0, 253],
      [17, 18],
      [100, 254],
      [253, 255],
    ]) {
      const holes = columns.map((column, number) => (lost.includes(number) ? null : column))
      expect(differences(code.reconstruct(holes), columns)).toEqual([])
    }
  })
})

describe('Reed-Solomon', () => {
  const shapes = Array.from({ length: 7 }, (_, n) => Array.from({ length: n + 1 }, (__, k) => [n + 1, k + 1]))
  it.each(shapes.flat())('recovers every tolerated loss: %i columns, %i of data', (columns, dataColumns) => {
    const code = createReedSolomon(columns, dataColumns)
    for (const length of [1, 19]) checkEveryPattern(code, length)
    expect(code.tolerates).toBe(columns - dataColumns)
  })

  it('has a first parity column that is the XOR of the data', () => {
    const code = createReedSolomon(6, 3)
    const [a, b, c] = [fill(40, 1), fill(40, 2), fill(40, 3)] as const
    const xor = a.map((byte, index) => byte ^ (b[index] as number) ^ (c[index] as number))
    expect(code.encode([a, b, c])[0]).toEqual(xor)
  })

  it('computes the same from words and from bytes, in columns longer than a block', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 }), (dataColumns, parity) => {
        const code = createReedSolomon(dataColumns + parity, dataColumns)
        const data = createData(code, 9_001)
        const shifted = data.map((column) => {
          const copy = new Uint8Array(column.length + 1).subarray(1)
          copy.set(column)
          return copy
        })
        expect(differences(code.encode(shifted), code.encode(data))).toEqual([])
      }),
      { numRuns: 30 },
    )
  })

  it('recovers random losses of larger codes', () => {
    const shape = fc
      .integer({ min: 8, max: 256 })
      .chain((columns) => fc.tuple(fc.constant(columns), fc.integer({ min: 1, max: columns - 1 })))
    fc.assert(
      fc.property(shape, fc.integer(), ([columns, dataColumns], seed) => {
        const code = createReedSolomon(columns, dataColumns)
        const data = createData(code, 5)
        const all = [...data, ...code.encode(data)]
        const order = fill(columns, seed)
        const lost = [...all.keys()]
          .sort((a, b) => (order[a] as number) - (order[b] as number) || a - b)
          .slice(0, code.tolerates)
        const holes = all.map((column, number) => (lost.includes(number) ? null : column))
        expect(differences(code.reconstruct(holes), all)).toEqual([])
      }),
      { numRuns: 15 },
    )
  })
})

describe.each([
  ['EVENODD', createEvenOdd(5)],
  ['Reed-Solomon', createReedSolomon(5, 3)],
])('%s refuses', (_, code) => {
  const data = createData(code, 16)
  const columns = [...data, ...code.encode(data)]

  it('more lost columns than it tolerates', () => {
    expect(() => code.reconstruct([null, null, null, ...columns.slice(3)])).toThrow(TooManyLostColumnsError)
    expect(() => code.reconstructInto(columns, [0, 1, 4])).toThrow('columns 0, 1, 4 are lost')
  })

  it('columns of different lengths', () => {
    expect(() => code.encode([...data.slice(1), new Uint8Array(14)])).toThrow(
      'column 2 has 14 bytes; all columns must have the same length, here 16',
    )
  })

  it('a wrong number of columns', () => {
    expect(() => code.encode(data.slice(1))).toThrow('2 columns given; this code needs 3')
    expect(() => code.reconstruct(data)).toThrow('3 columns given; this code needs 5')
    expect(() => code.encodeInto(data.slice(1), [...columns.slice(3), new Uint8Array(16)])).toThrow(
      '2 columns given; this code needs 3',
    )
  })

  it('a lost column that does not exist', () => {
    expect(() => code.reconstructInto(columns, [5])).toThrow(
      'lost column 5: must be a whole number from 0 to 4',
    )
  })

  it('nothing when columns are empty', () => {
    const empty = Array.from({ length: 3 }, () => new Uint8Array(0))
    expect(code.encode(empty)).toEqual([new Uint8Array(0), new Uint8Array(0)])
    expect(code.reconstruct([null, ...empty.slice(1), null, new Uint8Array(0)])).toHaveLength(5)
  })
})

it('refuses parameters that no code has', () => {
  for (const create of [
    () => createEvenOdd(2),
    () => createEvenOdd(257),
    () => createEvenOdd(4.5),
    () => createReedSolomon(257, 3),
    () => createReedSolomon(5, 0),
    () => createReedSolomon(5, 6),
  ])
    expect(create).toThrow(InvalidCodeInputError)
  expect(() => createEvenOdd(5).encode([1, 2, 3].map(() => new Uint8Array(3)))).toThrow('multiple of 2')
})
