/**
 * The Mandelbrot set, one row of a tile at a time. Only additions, subtractions and multiplications of doubles are used:
 * IEEE 754 defines their results to the last bit, so every machine computes the same picture.
 */
import { INSIDE, PALETTE } from './palette.ts'

export type Picture = {
  /** In pixels. */
  readonly width: number
  readonly height: number
  /** A point that has not escaped after this many iterations counts as inside the set. */
  readonly iterations: number
}

/** A rectangle of the picture, in pixels. */
export type Tile = {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

export const BYTES_PER_PIXEL = 3

/** The part of the plane that is shown: its centre, and the distance from it to the nearer borders. */
const CENTRE_X = -0.743_65
const CENTRE_Y = 0.131_75
const RADIUS = 0.0012
/** Every pixel is the average of SAMPLES × SAMPLES points. */
const SAMPLES = 4

/** The colours of one row of a tile: red, green and blue of each pixel, from left to right. */
export function renderRow(picture: Picture, tile: Tile, row: number): Uint8Array {
  const { width, height, iterations } = picture
  const shorter = width < height ? width : height
  /** Between two points. */
  const step = (2 * RADIUS) / (shorter * SAMPLES)
  const left = CENTRE_X - (step * width * SAMPLES) / 2
  const top = CENTRE_Y + (step * height * SAMPLES) / 2
  const bytes = new Uint8Array(tile.width * BYTES_PER_PIXEL)
  for (let column = 0; column < tile.width; column++) {
    let red = 0
    let green = 0
    let blue = 0
    for (let sampleY = 0; sampleY < SAMPLES; sampleY++) {
      const y = top - ((tile.top + row) * SAMPLES + sampleY) * step
      for (let sampleX = 0; sampleX < SAMPLES; sampleX++) {
        const x = left + ((tile.left + column) * SAMPLES + sampleX) * step
        const colour = colourOf(countIterations(x, y, iterations), iterations)
        red += colour >> 16
        green += (colour >> 8) & 0xff
        blue += colour & 0xff
      }
    }
    const at = column * BYTES_PER_PIXEL
    bytes[at] = average(red)
    bytes[at + 1] = average(green)
    bytes[at + 2] = average(blue)
  }
  return bytes
}

/** How many iterations of z² + c the point c stays within the circle of radius 2; at most `limit`. */
export function countIterations(cx: number, cy: number, limit: number): number {
  let x = 0
  let y = 0
  let xx = 0
  let yy = 0
  let count = 0
  while (count < limit && xx + yy <= 4) {
    y = 2 * x * y + cy
    x = xx - yy + cx
    xx = x * x
    yy = y * y
    count += 1
  }
  return count
}

function colourOf(count: number, iterations: number): number {
  return count === iterations ? INSIDE : (PALETTE[count % PALETTE.length] as number)
}

/** The mean of a channel, rounded; whole numbers only. */
function average(sum: number): number {
  const samples = SAMPLES * SAMPLES
  return ((2 * sum + samples) / (2 * samples)) | 0
}
