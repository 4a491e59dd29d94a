/** Checks at start that a program can be run: the first term may begin much later, after another node has failed. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { UsageError } from '../errors.ts'

export function checkProgram(name: string): void {
  const isPath = name.includes('/')
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const problems = (isPath ? [name] : folders.map((folder) => join(folder, name))).map(findProblem)
  if (problems.includes(null)) return
  const problem = problems.find((each) => each !== MISSING) ?? (isPath ? MISSING : `${MISSING} in the PATH`)
  throw new UsageError(`cannot run ${JSON.stringify(name)}: ${problem}`, 'command')
}

const MISSING = 'no such program'

function findProblem(file: string): string | null {
  try {
    if (!statSync(file).isFile()) return `${file} is not a file`
    accessSync(file, constants.X_OK)
    return null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
      ? `this user has no permission to run ${file}`
      : MISSING
  }
}
