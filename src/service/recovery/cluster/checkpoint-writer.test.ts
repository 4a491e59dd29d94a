import { expect, it } from 'vitest'
import { ASSIGNMENT, CONTENT, createWriter, JOB } from '../../../../test/support/manager-stub.ts'
import { until } from '../../../../test/support/wait.ts'

const NEVER = new AbortController().signal
const refused = { columns: [0], problems: [{ node: 'b', column: 1, problem: 'connection refused' }] }
const full = { columns: [0], problems: [{ node: 'b', column: 1, problem: 'no space left for column 1' }] }

it('stores the next epoch, and resolves when it is committed', async () => {
  const { writer, stub } = createWriter({ epoch: 6 })
  await writer.store(JOB, ASSIGNMENT, CONTENT, NEVER)
  expect(stub.commands.map((command) => command.do)).toEqual(['checkpoint', 'uploaded'])
  expect(stub.commands[0]).toMatchObject({ epoch: 7, assignment: ASSIGNMENT, digest: CONTENT.digest })
})

it('tries again when nodes are unreachable, until it is stored', async () => {
  const { writer, stub } = createWriter({ uploads: [refused, refused, { columns: [0, 1], problems: [] }] })
  await writer.store(JOB, ASSIGNMENT, CONTENT, NEVER)
  expect(stub.commands.filter((command) => command.do === 'checkpoint')).toHaveLength(3)
})

it('rejects when the attempts fail for too long', async () => {
  const { writer } = createWriter({ uploads: [refused] }, 0)
  await expect(writer.store(JOB, ASSIGNMENT, CONTENT, NEVER)).rejects.toMatchObject({
    code: 'ERR_CONCLAVE_CHECKPOINT_FAILED',
    message: expect.stringMatching(/connection refused.*The last committed checkpoint stays/) as unknown,
  })
})

it('rejects at once when disks are full', async () => {
  const { writer, stub } = createWriter({ uploads: [full] })
  await expect(writer.store(JOB, ASSIGNMENT, CONTENT, NEVER)).rejects.toMatchObject({
    code: 'ERR_CONCLAVE_CHECKPOINT_DISK_FULL',
  })
  expect(stub.commands.filter((command) => command.do === 'checkpoint')).toHaveLength(1)
})

it.each([
  ['was assigned again', { assignment: [9, 1] as const }],
  ['was cancelled', { status: 'cancelled' as const }],
])('refuses a run whose job %s', async (_, given) => {
  const { writer, stub } = createWriter(given)
  await expect(writer.store(JOB, ASSIGNMENT, CONTENT, NEVER)).rejects.toMatchObject({
    code: 'ERR_CONCLAVE_JOB_FENCED',
  })
  expect(stub.commands).toEqual([])
})

it('gives the upload up when the call is aborted, and releases the manager', async () => {
  const abort = new AbortController()
  const { writer, stub } = createWriter({ uploads: ['hangs'] })
  const storing = writer.store(JOB, ASSIGNMENT, CONTENT, abort.signal)
  setImmediate(() => abort.abort(new Error('enough')))
  await expect(storing).rejects.toMatchObject({ code: 'ERR_CONCLAVE_CHECKPOINT_ABORTED' })
  await until(() => stub.commands.length === 2)
  expect(stub.commands.at(-1)).toMatchObject({ do: 'uploaded', columns: [], problems: ['enough'] })
})
