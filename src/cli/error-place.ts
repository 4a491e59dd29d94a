/** Finds the line of a user's own file in which an error was thrown: in a protocol, a specification or a job. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The folder of this package: its own files are not the user's. */
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))
const OWN_FOLDERS = ['dist/', 'src/', 'bin/', 'node_modules/'].map((folder) => PACKAGE + folder)

/** A frame of a stack such as `at step (file:///a/b.mjs:3:5)`, or the first line of a syntax error: `file:///a/b.mjs:3`. */
const FRAME = /(?:\(|^|at )((?:file:\/\/)?\/[^()]*?):(\d+)(?::\d+)?\)?$/

/** `FILE:LINE` of the topmost frame in a user's file; null if there is none. */
export function placeOf(error: Error): string | null {
  return placeIn(error.stack ?? '')
}

/** The place of a syntax error in a module. Its stack has no line of the module, but the compiler knows the line. */
export function placeOfSyntaxError(file: string): string | null {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' })
  return placeIn(stderr)
}

function placeIn(stack: string): string | null {
  for (const line of stack.split('\n')) {
    const match = FRAME.exec(line.trim())
    if (match === null) continue
    const [, path = '', row] = match
    const file = path.startsWith('file:') ? fileURLToPath(path) : path
    const isOwn = OWN_FOLDERS.some((folder) => file.startsWith(folder)) || file.includes('/node_modules/')
    if (!isOwn) return `${file}:${row}`
  }
  return null
}

/** The message with the place, if the error was thrown in a user's file. */
export function messageWithPlace(error: Error, place = placeOf(error)): string {
  const [first = ''] = error.message.split('\n')
  return place === null ? error.message : `${place}: ${error.name}: ${first}`
}
