import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { conclave } from '../../test/support/cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('conclave playground', () => {
  it('serves the page and the file until it is interrupted', async () => {
    const child = spawn(
      join(root, 'bin/conclave'),
      ['playground', 'examples/first-election.json', '--port', '0', '--no-open', '--json'],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const exited = once(child, 'exit')
    const lines = createInterface(child.stdout)
    const [line] = (await once(lines, 'line')) as [string]
    const { url } = JSON.parse(line) as { readonly url: string }
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#file=first-election\.json$/)
    expect(await (await fetch(url)).text()).toContain('Conclave playground')
    const file = await fetch(new URL('file/first-election.json', url))
    expect(await file.json()).toMatchObject({ protocol: 'bully' })
    child.kill('SIGINT')
    expect(await exited).toEqual([0, null])
  })

  it.each([
    [['/no/such/file'], '/no/such/file: no such file'],
    [['examples'], 'examples: not a file'],
    [['--port', 'http'], '--port http: write a whole number'],
    [['--port', '70000'], '--port 70000: must be at most 65535'],
  ])('refuses %j', async (words, message) => {
    const { code, stderr } = await conclave(['playground', '--no-open', ...words])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
