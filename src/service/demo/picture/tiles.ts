/** Cuts a picture into tiles, and puts rows of tiles together again. */
import { BYTES_PER_PIXEL, type Picture, type Tile } from './mandelbrot.ts'

/** Exactly `count` tiles that cover the picture, row by row: the grid whose tiles are closest to squares. */
export function cutIntoTiles({ width, height }: Picture, count: number): readonly Tile[] {
  const grids = Array.from({ length: count }, (_, index) => index + 1)
    .filter((columns) => count % columns === 0 && columns <= width && count / columns <= height)
    .map((columns) => ({ columns, rows: count / columns }))
  const elongation = ({ columns, rows }: { readonly columns: number; readonly rows: number }): number => {
    const ratio = (width * rows) / (height * columns)
    return ratio < 1 ? 1 / ratio : ratio
  }
  const [grid] = grids.sort((a, b) => elongation(a) - elongation(b))
  if (grid === undefined)
    throw new RangeError(`${width} × ${height} pixels cannot be cut into ${count} tiles`)
  const { columns, rows } = grid
  const edge = (index: number, parts: number, length: number): number => Math.floor((index * length) / parts)
  return Array.from({ length: count }, (_, index): Tile => {
    const column = index % columns
    const row = (index - column) / columns
    const left = edge(column, columns, width)
    const top = edge(row, rows, height)
    return {
      left,
      top,
      width: edge(column + 1, columns, width) - left,
      height: edge(row + 1, rows, height) - top,
    }
  })
}

/** The pixels of a picture that arrives row by row. */
export class Canvas {
  readonly picture: Picture
  readonly pixels: Uint8Array

  constructor(picture: Picture) {
    this.picture = picture
    this.pixels = new Uint8Array(picture.width * picture.height * BYTES_PER_PIXEL)
  }

  /** Sets one row of a tile. */
  drawRow(tile: Tile, row: number, bytes: Uint8Array): void {
    if (bytes.length !== tile.width * BYTES_PER_PIXEL)
      throw new RangeError(`a row of ${tile.width} pixels must have ${tile.width * BYTES_PER_PIXEL} bytes`)
    this.pixels.set(bytes, this.#offset(tile, row))
  }

  /** The pixels of `count` rows of a tile, from row `from`. */
  readRows(tile: Tile, from: number, count: number): Uint8Array {
    const length = tile.width * BYTES_PER_PIXEL
    const bytes = new Uint8Array(length * count)
    for (let index = 0; index < count; index++) {
      const at = this.#offset(tile, from + index)
      bytes.set(this.pixels.subarray(at, at + length), index * length)
    }
    return bytes
  }

  #offset(tile: Tile, row: number): number {
    return ((tile.top + row) * this.picture.width + tile.left) * BYTES_PER_PIXEL
  }
}
