// Pages that contain measurements of a script between two markers, some with a picture.
import { readFileSync, writeFileSync } from 'node:fs'

/** Whether the script should only show that it works. */
export const isTry = process.argv.includes('--try')

/** Writes page and picture. With --check it compares and fails if they are out of date; with --try it does nothing. */
export function publish({ page: file, begin, end, content, picture = null, drawn = null, command }) {
  if (isTry) return
  const page = readFileSync(file, 'utf8')
  const [before, rest] = page.split(begin)
  const after = rest.split(end)[1]
  const wanted = `${before}${begin}\n\n${content}\n\n${end}${after}`
  if (process.argv.includes('--check')) {
    const same = wanted === page && (picture === null || drawn === readFileSync(picture, 'utf8'))
    if (!same) console.error(`${file.pathname ?? file} or its picture is out of date: ${command}`)
    process.exitCode = same ? 0 : 1
    return
  }
  writeFileSync(file, wanted)
  if (picture !== null) writeFileSync(picture, drawn)
}
