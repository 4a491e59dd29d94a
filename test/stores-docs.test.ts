/** Executes the snippet of docs/explanation/stores.md that fences at the start of a term. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { establish, type FenceDevice, SimulatedSwitch } from '../src/service/fencing/devices.ts'

type Work = (term: object) => Promise<void>
type Snippet = (node: object, with_: typeof establish, device: FenceDevice, serve: Work) => Promise<void>

const text = readFileSync(resolve(import.meta.dirname, '../docs/explanation/stores.md'), 'utf8')
const source = [...text.matchAll(/```ts\n(?<code>.*?)```/gs)]
  .map(({ groups }) => groups?.['code'] ?? '')
  .filter((code) => code.includes('establish('))

/** Runs the snippet for a node that leads once, with this token. */
async function run(device: FenceDevice, token: number): Promise<readonly string[]> {
  const did: string[] = []
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func -- what the document shows is what is run
  const snippet = new Function(
    'node',
    'establish',
    'device',
    'serve',
    `return (async () => { ${source[0]} })()`,
  ) as Snippet
  const term = { token, signal: new AbortController().signal, assertHeld: () => did.push('held') }
  const node = { lead: (work: Work) => work(term) }
  await snippet(node, establish, device, async () => {
    did.push('served')
  })
  return did
}

it('fences, confirms, asserts and serves, but not where a newer leader was', async () => {
  expect(source).toHaveLength(1)
  const device = new SimulatedSwitch('switch')
  expect(await run(device, 7)).toEqual(['held', 'served'])
  expect(await Promise.all(['a', 'b', 'c'].map((id) => device.status(id)))).toEqual(['on', 'off', 'off'])
  expect(await run(device, 6)).toEqual([])
})
