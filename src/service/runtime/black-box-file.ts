/** The file to which a failed node writes its black box. */
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The file's name in a data directory. A later failure replaces it. */
export const BLACK_BOX_FILE = 'black-box.ndjson'

export type BlackBoxOwner = {
  readonly group: string
  readonly node: string
  /** Identifies the run of the process. */
  readonly run: string
  /** The group's data directory. Null: the file goes to the directory for temporary files. */
  readonly data: string | null
}

/** Returns the path of the file, or null when it cannot be written: a failing node has more important things to report. */
export function writeBlackBox({ group, node, run, data }: BlackBoxOwner, text: string): string | null {
  const file =
    data === null
      ? join(tmpdir(), `conclave-${fileSafe(group)}-${fileSafe(node)}-${run}.ndjson`)
      : join(data, BLACK_BOX_FILE)
  try {
    writeFileSync(file, text, { mode: 0o600 })
    return file
  } catch {
    return null
  }
}

function fileSafe(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '_').slice(0, 60)
}
