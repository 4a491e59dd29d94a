/** When an upload asks its holders, encodes, and lets other work run. The holders here are in memory. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { codeFor } from '../../../recovery/manager/types.ts'
import { describePayload } from './payload.ts'
import { uploadPieces } from './upload.ts'

const NODES = [1, 2, 3, 4, 5]

async function upload(stripes: number): Promise<readonly string[]> {
  const code = codeFor(NODES.length)
  const payload = randomBytes(stripes * code.data * 512 * 1024)
  const id = { job: 'render', assignment: [1, 0] as const, epoch: 1, token: 1 }
  const plan = { id, code, holders: NODES, ...(await describePayload(payload)) }
  const events: string[] = []
  // What a request is: it leaves the process only when the event loop runs.
  const open = async () => {
    setImmediate(() => events.push('asked'))
    return { write: async () => {}, finish: async () => 0, abort: async () => {} }
  }
  let isRunning = true
  const runOtherWork = (): void => {
    events.push('other work')
    if (isRunning) setImmediate(runOtherWork)
  }
  setImmediate(runOtherWork)
  const target = { open, confirm: async () => {} }
  await uploadPieces(plan, [payload], target, { onProgress: () => events.push('encoded') })
  isRunning = false
  return events
}

it('asks all holders before it encodes the first stripe', async () => {
  const events = await upload(1)
  expect(events.slice(0, events.indexOf('encoded')).filter((event) => event === 'asked')).toHaveLength(
    NODES.length,
  )
})

it('lets other work run between any two stripes', async () => {
  const events = await upload(6)
  expect(events.filter((event) => event === 'encoded')).toHaveLength(6)
  expect(events.join(' ')).not.toContain('encoded encoded')
})
