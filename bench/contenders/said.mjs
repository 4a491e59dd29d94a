// What contenders of the failover bench have in common: they say "ready" when they campaign and "led" each time they
// lead, and are told "release" on standard input.
import { createInterface } from 'node:readline'

export const say = (word) => process.stdout.write(`${word}\n`)

/** Calls back for each "release"; ends with whoever started it. */
export function onRelease(release) {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    if (line === 'release') release()
  })
  lines.on('close', () => process.exit())
}

/** Whoever hands over leaves it to others for so long. */
export const LEAVE_MS = 300
