/**
 * The warden: a shell that waits for the end of this process, however it comes, and ends with it what it was told of.
 * Even a stopped process, which could not notice by itself, is killed; the folder that they used is removed.
 */
import { type ChildProcess, spawn } from 'node:child_process'

/** It reads "+ PID" and "- PID" until nobody is left to write; then it kills who is still listed. */
const SCRIPT = `trap '' INT TERM HUP
listed=
while read -r sign pid; do
  case $sign in
    +) listed="$listed $pid" ;;
    -) left=; for each in $listed; do [ "$each" = "$pid" ] || left="$left $each"; done; listed=$left ;;
  esac
done
[ -z "$listed" ] || kill -9 $listed 2>/dev/null
# What was just killed may still have been writing.
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`

export class Warden {
  readonly #shell: ChildProcess

  /** The folder is removed at the end. */
  constructor(folder: string) {
    this.#shell = spawn('sh', ['-c', SCRIPT, 'conclave-warden', folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.stdin?.on('error', () => {})
  }

  /** Kills it at the end, unless it has ended before. */
  watch(child: ChildProcess): void {
    const { pid } = child
    if (pid === undefined) return
    this.#shell.stdin?.write(`+ ${pid}\n`)
    child.once('exit', () => this.#shell.stdin?.write(`- ${pid}\n`))
  }

  /** As if this process had ended; resolves when all is done. */
  async close(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.#shell.once('exit', () => resolve()))
    this.#shell.stdin?.end()
    await gone
  }
}
