/** Completion in a bash without the package bash-completion and without start-up files. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { conclave } from '../../test/support/cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

type Typed = readonly [line: string, words: readonly string[], offered: readonly string[]]

/** Lines with the cursor at the end, the words into which bash splits them, and the expected completions. */
const TYPED: readonly Typed[] = [
  ['bin/conclave sta', ['bin/conclave', 'sta'], ['status']],
  ['bin/conclave  st', ['bin/conclave', 'st'], ['status', 'step-down']],
  ['bin/conclave status --a', ['bin/conclave', 'status', '--a'], ['--agent']],
  [
    'bin/conclave status --agent http://a:1 --j',
    ['bin/conclave', 'status', '--agent', 'http', ':', '//a', ':', '1', '--j'],
    ['--json'],
  ],
  ['bin/conclave completion ', ['bin/conclave', 'completion', ''], ['zsh', 'bash', 'fish', 'powershell']],
  // bash completes file names itself.
  ['bin/conclave sim exam', ['bin/conclave', 'sim', 'exam'], []],
]

it('offers commands, flags and choices in bash', () => {
  const asked = TYPED.map(
    ([line, words]) => `
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
    COMP_LINE='${line}'; COMP_POINT=${line.length}
    __conclave_complete
    echo "\${COMPREPLY[*]-}"`,
  )
  const script = `
    set -u
    script=$(bin/conclave completion bash)
    # Twice, as in a nested shell.
    source <(echo "$script")
    source <(echo "$script")
    complete -p conclave > /dev/null || exit 1
    ${asked.join('')}`
  const { stdout, stderr, status } = spawnSync('bash', ['--noprofile', '--norc', '-c', script], {
    cwd: root,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout.split('\n').slice(0, -1)).toEqual(TYPED.map(([, , offered]) => offered.join(' ')))
}, 60_000)

it.each(['bash', 'zsh', 'fish', 'powershell'])(
  'prints a script that %s can parse',
  async (shell) => {
    const { code, stdout } = await conclave(['completion', shell])
    expect(code).toBe(0)
    expect(stdout).toMatch(/conclave['"]? complete|complete --/)
    if (shell === 'zsh') expect(stdout.startsWith('#compdef conclave\n')).toBe(true)
    if (spawnSync(shell, ['-c', 'true']).status !== 0 || shell === 'powershell') return
    expect(spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    })
  },
  60_000,
)
