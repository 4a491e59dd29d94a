/** Completion in shells without start-up files; in bash also without the package bash-completion. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { conclave } from '../../test/support/cli.ts'
import { describeWithTool } from '../../test/support/servers.ts'

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

it('prints a script for PowerShell', async () => {
  const { code, stdout } = await conclave(['completion', 'powershell'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/conclave['"]? complete|complete --/)
})

await describeWithTool('zsh', 'zsh', (program) => {
  it('completes a command at the prompt', () => {
    const script = `
      zmodload zsh/zpty
      zpty -b shell ${program} -f -i
      zpty -w shell "PATH=$PWD/bin:\\$PATH; PS1='> '"
      # Twice, as in a nested shell.
      zpty -w shell 'source <(conclave completion zsh); source <(conclave completion zsh); echo rea""dy'
      zpty -r -m shell line '*ready*'
      zpty -w -n shell $'conclave sta\t'
      zpty -r -m shell line '*conclave status*' && echo completed
      zpty -d shell`
    const ended = spawnSync(program, ['-f', '-c', script], { cwd: root, encoding: 'utf8', timeout: 50_000 })
    expect(ended).toMatchObject({ stderr: '', stdout: 'completed\n' })
  }, 60_000)
})

await describeWithTool('fish', 'fish', (program) => {
  it('offers commands, flags and choices', () => {
    const script = `
      bin/conclave completion fish | source
      bin/conclave completion fish | source
      for line in 'conclave sta' 'conclave status --a' 'conclave completion '
        complete -C $line | cut -f 1 | string join ' '
      end`
    const ended = spawnSync(program, ['--no-config', '-c', script], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${root}/bin:${process.env['PATH']}` },
    })
    expect(ended).toMatchObject({ status: 0, stderr: '' })
    expect(ended.stdout.split('\n').map((line) => line.trim())).toEqual([
      'status',
      '--agent',
      'bash fish powershell zsh',
      '',
    ])
  }, 60_000)
})
