/** Blocks after a comment `<!-- file PATH -->` show that file: the whole file, word for word. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { documents, ROOT } from './support/documents.ts'

const SHOWN = /<!-- file (?<path>\S+) -->\n\n```\w*\n(?<text>.*?)```\n/gs

const shown = documents.flatMap(({ file, text }) =>
  [...text.matchAll(SHOWN)].map(({ groups }) => ({
    file,
    path: groups?.['path'] ?? '',
    text: groups?.['text'],
  })),
)

describe('files in the documents', () => {
  it('follow every comment that announces one', () => {
    const announced = documents.flatMap(({ text }) => text.match(/^<!-- file .*$/gm) ?? [])
    expect(announced).toHaveLength(shown.length)
    expect(shown.length).toBeGreaterThan(5)
  })

  it.each(shown)('$file shows $path', ({ path, text }) => {
    expect(existsSync(join(ROOT, path))).toBe(true)
    expect(text).toBe(readFileSync(join(ROOT, path), 'utf8'))
  })
})
