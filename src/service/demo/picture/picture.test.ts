import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BYTES_PER_PIXEL, countIterations, type Picture, renderRow, type Tile } from './mandelbrot.ts'
import { INSIDE, PALETTE } from './palette.ts'
import { encodePng } from './png.ts'
import { Canvas, cutIntoTiles } from './tiles.ts'

const SMALL: Picture = { width: 60, height: 40, iterations: 500 }

function render(picture: Picture, tiles: readonly Tile[]): Uint8Array {
  const canvas = new Canvas(picture)
  for (const tile of tiles)
    for (let row = 0; row < tile.height; row++) canvas.drawRow(tile, row, renderRow(picture, tile, row))
  return canvas.pixels
}

describe('countIterations', () => {
  it.each([
    ['the centre', 0, 0, 1000],
    ['a point of the period-2 disc', -1, 0, 1000],
    ['the tip of the antenna', -2, 0, 1000],
    ['a point outside the circle', 2, 2, 1],
    ['a point that escapes in the second step', 1, 0, 3],
    ['a point near the cusp', 0.26, 0, 30],
    ['a point of the seahorse valley', -0.743_65, 0.1317, 577],
  ])('counts %s', (_, x, y, expected) => {
    expect(countIterations(x, y, 1000)).toBe(expected)
  })

  it('never exceeds the limit', () => {
    const point = fc.double({ min: -2, max: 2, noNaN: true })
    fc.assert(
      fc.property(point, point, fc.integer({ min: 0, max: 50 }), (x, y, limit) => {
        expect(countIterations(x, y, limit)).toBeLessThanOrEqual(limit)
      }),
    )
  })
})

describe('the palette', () => {
  it('starts with its first stop, and has whole colours only', () => {
    expect(PALETTE[0]).toBe(0x0a_1a_3f)
    expect(PALETTE[24]).toBe(0x1f_5f_a8)
    expect(PALETTE.every((colour) => Number.isInteger(colour) && colour >= 0 && colour <= 0xff_ff_ff)).toBe(
      true,
    )
  })

  it('is fixed', () => {
    const text = [INSIDE, ...PALETTE].join(',')
    expect(createHash('sha256').update(text).digest('hex')).toBe(
      '889ab475dad45337aee90aba0599b001e02b266ec89dd9c36480b7fa4105d83c',
    )
  })
})

describe('a picture', () => {
  /** The digest is that of an implementation in another language. */
  it('has the same bits on every machine', () => {
    const pixels = render(SMALL, cutIntoTiles(SMALL, 1))
    expect([...pixels.subarray(0, 6)]).toEqual([157, 119, 104, 174, 194, 195])
    expect(createHash('sha256').update(pixels).digest('hex')).toBe(
      'd2b7ea1b59ea93123cf77428de0325e825e2d8d8e11823df85995885aa72e89a',
    )
  })

  it.each([2, 3, 6, 7, 24])('does not depend on being cut into %d tiles', (count) => {
    const whole = render(SMALL, cutIntoTiles(SMALL, 1))
    expect(Buffer.compare(render(SMALL, cutIntoTiles(SMALL, count)), whole)).toBe(0)
  })
})

describe('cutIntoTiles', () => {
  it('covers every pixel once', () => {
    const size = fc.integer({ min: 1, max: 60 })
    fc.assert(
      fc.property(size, size, fc.integer({ min: 1, max: 40 }), (width, height, count) => {
        fc.pre(count <= width && count <= height)
        const tiles = cutIntoTiles({ width, height, iterations: 1 }, count)
        expect(tiles).toHaveLength(count)
        const covered = new Uint8Array(width * height)
        for (const tile of tiles)
          for (let y = tile.top; y < tile.top + tile.height; y++)
            for (let x = tile.left; x < tile.left + tile.width; x++)
              covered[y * width + x] = (covered[y * width + x] ?? 0) + 1
        expect(covered.every((times) => times === 1)).toBe(true)
      }),
    )
  })

  it('prefers squares', () => {
    const [tile] = cutIntoTiles({ width: 1200, height: 800, iterations: 1 }, 24)
    expect(tile).toEqual({ left: 0, top: 0, width: 200, height: 200 })
  })

  it('refuses more tiles than pixels', () => {
    expect(() => cutIntoTiles({ width: 2, height: 2, iterations: 1 }, 5)).toThrow(
      '2 × 2 pixels cannot be cut into 5 tiles',
    )
  })
})

describe('Canvas', () => {
  const tile: Tile = { left: 1, top: 1, width: 2, height: 2 }

  it('returns the rows that were drawn', () => {
    const canvas = new Canvas({ width: 4, height: 3, iterations: 1 })
    canvas.drawRow(tile, 0, new Uint8Array([1, 2, 3, 4, 5, 6]))
    canvas.drawRow(tile, 1, new Uint8Array([7, 8, 9, 10, 11, 12]))
    expect([...canvas.readRows(tile, 0, 2)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect([...canvas.readRows(tile, 1, 1)]).toEqual([7, 8, 9, 10, 11, 12])
    expect(canvas.pixels.filter((byte) => byte === 0)).toHaveLength(4 * 3 * BYTES_PER_PIXEL - 12)
  })

  it('refuses a row of another width', () => {
    const canvas = new Canvas({ width: 4, height: 3, iterations: 1 })
    expect(() => canvas.drawRow(tile, 0, new Uint8Array(3))).toThrow('a row of 2 pixels must have 6 bytes')
  })
})

describe('encodePng', () => {
  it('writes a header, the rows without a filter, and an end', () => {
    const pixels = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    const png = encodePng(2, 2, pixels)
    expect(png.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001A\n')
    expect(png.subarray(12, 16).toString()).toBe('IHDR')
    expect([png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]]).toEqual([2, 2, 8, 2])
    // The checksum of an empty IEND is the same in every PNG file.
    expect(png.subarray(-12).toString('hex')).toBe('0000000049454e44ae426082')
    const length = png.readUInt32BE(33)
    expect(png.subarray(37, 41).toString()).toBe('IDAT')
    expect([...inflateSync(png.subarray(41, 41 + length))]).toEqual([
      0, 1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10, 11, 12,
    ])
  })
})
