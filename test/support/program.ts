/** A program that uses the package, as a child process; its output is read line by line. */
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

export class Program {
  readonly process: ChildProcess
  readonly lines: string[] = []
  readonly errors: string[] = []
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>

  /** `source` is an ES module; `words` are `process.argv.slice(2)`. */
  constructor(source: string, words: readonly string[] = []) {
    this.process = spawn(process.execPath, ['--input-type=module', '-e', source, 'program', ...words], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    read(this.process.stdout, this.lines)
    read(this.process.stderr, this.errors)
    this.ended = new Promise((done) => this.process.once('close', (code, signal) => done(code ?? signal)))
  }

  /** The lines that begin with this word, without the word. */
  said(word: string): readonly string[] {
    return this.lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []))
  }

  async kill(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL')
    await this.ended
  }
}

function read(stream: NodeJS.ReadableStream | null, lines: string[]): void {
  let rest = ''
  stream?.on('data', (data: Buffer) => {
    const parts = (rest + data.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
}
