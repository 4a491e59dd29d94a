/** A fault manager that answers as a test wants, for parts of the host that need no group. */
import type { Assignment, JobStatus, ManagerCommand } from '../../src/recovery/manager/types.ts'
import type { UploadOutcome } from '../../src/service/recovery/checkpoints/index.ts'
import { CheckpointWriter } from '../../src/service/recovery/cluster/checkpoint-writer.ts'
import type { ManagerPort } from '../../src/service/recovery/cluster/ports.ts'

export const JOB = 'render'
export const ASSIGNMENT: Assignment = [5, 1]

export type Stub = {
  status: JobStatus
  assignment: Assignment
  fence: number
  epoch: number
  /** What an upload comes to, in turn; the last one is repeated. `hangs`: nothing, until it is aborted. */
  readonly uploads: readonly (UploadOutcome | 'hangs')[]
  readonly commands: ManagerCommand[]
}

/** A writer whose manager commits what has two columns, and refuses what has fewer. */
export function createWriter(
  given: Partial<Stub>,
  maxFailingMs?: number,
): { readonly writer: CheckpointWriter; readonly stub: Stub } {
  const stub: Stub = {
    status: 'running',
    assignment: ASSIGNMENT,
    fence: 5,
    epoch: 0,
    uploads: [{ columns: [0, 1, 2], problems: [] }],
    commands: [],
    ...given,
  }
  let uploads = 0
  const checkpoints = {
    async upload(_: unknown, __: unknown, { signal }: { readonly signal?: AbortSignal } = {}) {
      const outcome = stub.uploads[Math.min(uploads, stub.uploads.length - 1)] as UploadOutcome | 'hangs'
      uploads += 1
      if (outcome !== 'hangs') return outcome
      return new Promise<never>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      })
    },
  }
  const code = { name: 'evenodd', columns: 3, data: 1 } as const
  const manager: ManagerPort = {
    async command(command) {
      stub.commands.push(command)
      if (command.do === 'checkpoint') {
        const { job, assignment, epoch, bytes, digest } = command
        const id = { job, assignment, epoch, token: stub.fence }
        queueMicrotask(() =>
          writer.handleUpload({ type: 'upload', id, code, holders: ['a', 'b', 'c'], bytes, digest }),
        )
      }
      if (command.do === 'uploaded') queueMicrotask(() => answerUpload(command))
      return null
    },
    look: () => ({
      token: stub.fence,
      leader: 'a',
      members: ['a', 'b', 'c'],
      fence: stub.fence,
      step: 0,
      jobs: [
        {
          name: JOB,
          rank: [5, 2],
          status: stub.status,
          owner: ['a', 1],
          assignment: stub.assignment,
          submission: stub.assignment,
          reason: '',
          declined: [],
          epoch: stub.epoch,
          commit: null,
          tolerated: null,
        },
      ],
    }),
  }
  const writer = new CheckpointWriter(manager, checkpoints, maxFailingMs)
  function answerUpload({ id, columns, problems }: Extract<ManagerCommand, { do: 'uploaded' }>): void {
    if (columns.length < 2) {
      const reason = `${columns.length} columns are stored; a checkpoint needs 2: ${problems.join('; ')}`
      writer.handleFailed({ type: 'checkpointFailed', ...id, reason })
      return
    }
    stub.epoch = id.epoch
    const commit = { id, code, holders: ['a', 'b', 'c'], bytes: 1, digest: '' }
    writer.handleCommitted({ type: 'committed', commit })
  }
  return { writer, stub }
}

export const CONTENT = { chunks: [new Uint8Array([1, 2])], bytes: 2, digest: 'ab'.repeat(32) }
