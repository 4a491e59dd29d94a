/** Progress of long work on standard error: a bar on a terminal, a line every five seconds elsewhere. */
import { SingleBar } from 'cli-progress'
import { escapeControls, printNote } from './output.ts'

const LINE_EVERY_MS = 5000

export type Progress = {
  /** `total` is 0 where no end is in sight. */
  update(done: number, total: number, note: string): void
  stop(): void
}

export function startProgress(what: string): Progress {
  return process.stderr.isTTY ? bar(what) : lines(what)
}

function bar(what: string): Progress {
  const view = new SingleBar({
    format: `${escapeControls(what)} {bar} {percentage}% {note}`,
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
    noTTYOutput: false,
  })
  let started = false
  return {
    update(done, total, note) {
      const shown = { note: escapeControls(note) }
      if (!started) view.start(Math.max(total, done, 1), done, shown)
      started = true
      view.setTotal(Math.max(total, done, 1))
      view.update(done, shown)
    },
    stop() {
      if (started) view.stop()
    },
  }
}

function lines(what: string): Progress {
  let last = performance.now()
  return {
    update(done, total, note) {
      if (performance.now() - last < LINE_EVERY_MS) return
      last = performance.now()
      printNote(`${what}: ${done}${total > 0 ? ` of ${total}` : ''}, ${note}`)
    },
    stop() {},
  }
}
