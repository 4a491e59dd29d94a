// Shared by the contenders of the failover benchmark: they print "ready" when they are candidates and "led" each time
// they lead, and read "release" from standard input. A contender that may stop leading by itself prints "lost" when it does.
import { createInterface } from 'node:readline'

export const say = (word) => process.stdout.write(`${word}\n`)

/** Calls back for each "release". Exits when standard input ends. */
export function onRelease(release) {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    if (line === 'release') release()
  })
  lines.on('close', () => process.exit())
}

/** After a release a contender waits this long before it is a candidate again. */
export const LEAVE_MS = 300
