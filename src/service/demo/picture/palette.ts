/** The colours of the picture, interpolated in whole numbers. A colour is 0xRRGGBB. */

/** Of points inside the set. */
export const INSIDE = 0x06_08_12

/** The palette is a ring: the last stop is followed by the first. */
const STOPS = [0x0a_1a_3f, 0x1f_5f_a8, 0x8f_d0_f0, 0xff_f6_d8, 0xf7_b2_3b, 0xb4_3a_1e, 0x3a_10_40] as const
const STEPS_BETWEEN_STOPS = 24

/** By the number of iterations modulo its length. */
export const PALETTE: readonly number[] = STOPS.flatMap((from, index) => {
  const to = STOPS[(index + 1) % STOPS.length] as number
  return Array.from({ length: STEPS_BETWEEN_STOPS }, (_, step) => mix(from, to, step))
})

function mix(from: number, to: number, step: number): number {
  return [16, 8, 0].reduce((colour, shift) => {
    const start = (from >> shift) & 0xff
    const end = (to >> shift) & 0xff
    const channel = ((start * (STEPS_BETWEEN_STOPS - step) + end * step) / STEPS_BETWEEN_STOPS) | 0
    return colour | (channel << shift)
  }, 0)
}
