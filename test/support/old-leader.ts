/**
 * An old leader: a process that is stopped in the middle of its writes and continues after another has led.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { until } from './wait.ts'

const SCRIPT = fileURLToPath(new URL('old-leader.mjs', import.meta.url))

export type Comeback = { readonly code: number | null; readonly said: string }

/** Runs the process under the token, stops it, awaits `meanwhile`, continues it, and resolves to its exit. */
export async function comeback(
  kind: 'postgres' | 'redis' | 'http' | 'file',
  address: string,
  token: number,
  meanwhile: () => Promise<void>,
): Promise<Comeback> {
  const child = spawn(process.execPath, [SCRIPT, kind, address, String(token)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let lines: readonly string[] = []
  let said = ''
  child.stdout.on('data', (data: Buffer) => {
    said += data.toString()
    lines = said.trim().split('\n')
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  await until(() => lines.filter((line) => line === 'wrote').length >= 3)
  child.kill('SIGSTOP')
  await meanwhile()
  child.kill('SIGCONT')
  const code = await ended
  return { code, said: lines.at(-1) ?? '' }
}
