/** Reads JSON and traces from files named on the command line. */
import { readFileSync } from 'node:fs'
import { readTrace, type Trace } from '../workbench/trace/index.ts'
import { UsageError } from './errors.ts'

const STANDARD_INPUT = 0

/** Reads a file, or standard input for `-`. */
export function readTextFile(file: string): string {
  try {
    return readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${file}: ${code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`}`)
  }
}

export function readJsonFile(file: string): unknown {
  const text = readTextFile(file)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${file}: not JSON: ${(error as Error).message}`)
  }
}

export function readTraceFile(file: string): Trace {
  return readTrace(readTextFile(file))
}
