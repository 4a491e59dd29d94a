/** Shows the progress of long work on standard error: a bar on a terminal, otherwise one line every five seconds. */
import { SingleBar } from 'cli-progress'
import { escapeControls, printNote } from './output.ts'

const LINE_INTERVAL_MS = 5000

export type Progress = {
  /** `total` is 0 if the amount of work is unknown. */
  update(done: number, total: number, note: string): void
  stop(): void
}

export function startProgress(unit: string): Progress {
  return process.stderr.isTTY ? showBar(unit) : printLines(unit)
}

function showBar(unit: string): Progress {
  const view = new SingleBar({
    format: `${escapeControls(unit)} {bar} {percentage}% {note}`,
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
    noTTYOutput: false,
  })
  let isStarted = false
  return {
    update(done, total, note) {
      const shown = { note: escapeControls(note) }
      if (!isStarted) view.start(Math.max(total, done, 1), done, shown)
      isStarted = true
      view.setTotal(Math.max(total, done, 1))
      view.update(done, shown)
    },
    stop() {
      if (isStarted) view.stop()
    },
  }
}

function printLines(unit: string): Progress {
  let last = performance.now()
  return {
    update(done, total, note) {
      if (performance.now() - last < LINE_INTERVAL_MS) return
      last = performance.now()
      printNote(`${unit}: ${done}${total > 0 ? ` of ${total}` : ''}, ${note}`)
    },
    stop() {},
  }
}
