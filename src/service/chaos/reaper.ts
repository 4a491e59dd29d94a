/**
 * The reaper: a shell process that outlives this process, however it ends, and kills the processes that were registered
 * with it. It also kills stopped processes, which could not notice the end of their parent, and removes their folder.
 */
import { type ChildProcess, spawn } from 'node:child_process'

/** Reads "+ PID" and "- PID" until the pipe is closed; then kills the processes that are still listed. */
const SCRIPT = `trap '' INT TERM HUP
listed=
while read -r sign pid; do
  case $sign in
    +) listed="$listed $pid" ;;
    -) left=; for each in $listed; do [ "$each" = "$pid" ] || left="$left $each"; done; listed=$left ;;
  esac
done
[ -z "$listed" ] || kill -9 $listed 2>/dev/null
# A process that was just killed may still have been writing.
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`

export class Reaper {
  readonly #shell: ChildProcess

  /** Removes the folder at the end. */
  constructor(folder: string) {
    this.#shell = spawn('sh', ['-c', SCRIPT, 'conclave-reaper', folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.stdin?.on('error', () => {})
  }

  /** Registers a child process. It is killed at the end unless it exits before. */
  watch(child: ChildProcess): void {
    const { pid } = child
    if (pid === undefined) return
    this.#shell.stdin?.write(`+ ${pid}\n`)
    child.once('exit', () => this.#shell.stdin?.write(`- ${pid}\n`))
  }

  /** Kills the registered processes and removes the folder. */
  async close(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.#shell.once('exit', () => resolve()))
    this.#shell.stdin?.end()
    await gone
  }
}
