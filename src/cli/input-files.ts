/** Reads JSON and traces from files named on the command line. */
import { readFileSync } from 'node:fs'
import { InvalidScenarioError } from '../workbench/scenario/index.ts'
import { fieldPositions, findSyntaxProblem, type TextPosition } from '../workbench/scenario/json-positions.ts'
import { InvalidTraceError, readTrace, type Trace } from '../workbench/trace/index.ts'
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
  return parseJson(file, readTextFile(file))
}

/**
 * Reads a scenario file and passes its content on. A problem with the scenario that `use` throws gets the file, line and
 * column of its field.
 */
export function useScenarioFile<T>(file: string, use: (content: unknown) => T): T {
  const text = readTextFile(file)
  const content = parseJson(file, text)
  try {
    return use(content)
  } catch (error) {
    if (!(error instanceof InvalidScenarioError)) throw error
    const positionOf = fieldPositions(text)
    throw error.locate((field) => placeText(file, positionOf(field)))
  }
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const problem = findSyntaxProblem(text)
    if (problem === null) throw error
    throw new UsageError(`${placeText(file, problem)}: not JSON: ${problem.message}`)
  }
}

function placeText(file: string, { line, column }: TextPosition): string {
  return `${file}:${line}:${column}`
}

/** A problem with the trace gets the name of the file. */
export function readTraceFile(file: string): Trace {
  const text = readTextFile(file)
  try {
    return readTrace(text)
  } catch (error) {
    if (!(error instanceof InvalidTraceError)) throw error
    throw new InvalidTraceError(`${file}: ${error.message}`)
  }
}
