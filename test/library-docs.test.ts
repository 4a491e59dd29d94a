/** Runs the `js run` examples of the library pages: each must print the text below it. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Program } from './support/program.ts'

const DOCS = resolve(import.meta.dirname, '../docs')

/** A block `js run` and the `text` that follows it. */
function examplesIn(file: string): readonly { readonly source: string; readonly shown: string }[] {
  const text = readFileSync(join(DOCS, file), 'utf8')
  return [...text.matchAll(/```js run\n(?<source>.*?)```\n\n```text\n(?<shown>.*?)```/gs)].map(
    ({ groups }) => ({
      source: groups?.['source'] ?? '',
      shown: groups?.['shown'] ?? '',
    }),
  )
}

describe.each([
  ['reference/library.md', 3],
  ['how-to/test-leader-code.md', 1],
  ['how-to/recover-jobs.md', 1],
] as const)('docs/%s', (file, count) => {
  const examples = examplesIn(file)

  it('has examples that are run, all of them', () => {
    expect(examples).toHaveLength(count)
    expect(readFileSync(join(DOCS, file), 'utf8').match(/```js/g)).toHaveLength(count)
  })

  it.each(examples)(
    'example %#',
    async ({ source, shown }) => {
      const program = new Program(source)
      const code = await program.ended
      expect([code, program.errors, program.lines.join('\n')]).toEqual([0, [], shown.trimEnd()])
    },
    60_000,
  )
})
