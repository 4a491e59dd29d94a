/** The documents of the repository and their fenced blocks, for the tests that execute and check them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

const DOCUMENTS: readonly string[] = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  'examples/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...readdirSync(join(ROOT, 'src/protocols'))
    .map((name) => join('src/protocols', name, 'README.md'))
    .filter((file) => existsSync(join(ROOT, file))),
].sort()

/** A fenced block: its info string, its lines, and the exit code in the comment before it. */
export type Block = {
  readonly info: string
  readonly line: number
  readonly exit: number
  readonly lines: readonly string[]
}

export function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```(.+)$/.exec(lines[at] ?? '')
    if (fence === null) continue
    const end = lines.indexOf('```', at + 1)
    if (end < 0) throw new Error(`the block at line ${at + 1} is not closed`)
    const exit = /^<!-- exit (\d+) -->$/.exec(lines[at - 1] ?? '')
    blocks.push({
      info: fence[1] ?? '',
      line: at + 1,
      exit: Number(exit?.[1] ?? 0),
      lines: lines.slice(at + 1, end),
    })
    at = end
  }
  return blocks
}

export const documents = DOCUMENTS.map((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return { file, text, blocks: blocksOf(text) }
})
