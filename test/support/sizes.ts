/**
 * Test sizes. `npm test` runs the usual size; `npm run soak` sets SOAK=1 and runs the full size of the same
 * checks, with the same pinned counts.
 */
export const isSoak = process.env['SOAK'] !== undefined

export function sized<T>(usual: T, full: T): T {
  return isSoak ? full : usual
}
