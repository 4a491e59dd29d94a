// Pages that hold what a script has measured, between two marks, and a picture beside some of them.
import { readFileSync, writeFileSync } from 'node:fs'

/** Writes both; with --check only compares, and says what to run when they are out of date. No picture: null. */
export function publish({ page: file, begin, end, content, picture = null, drawn = null, command }) {
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
