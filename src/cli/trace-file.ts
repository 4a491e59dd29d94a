/** Reads a trace from a file that a person has named. */
import { readFileSync } from 'node:fs'
import { readTrace, type Trace } from '../workbench/trace/index.ts'
import { UsageError } from './errors.ts'

export function readTraceFile(file: string): Trace {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      `${file}: ${code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`}`,
    )
  }
  return readTrace(text)
}
