/** Small demonstrations for tests: real processes, and pictures whose tiles take some seconds because they rest. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FractalDemo } from '../../src/service/demo/demo.ts'

export type OpenedDemo = {
  readonly demo: FractalDemo
  /** Of all processes that were started. */
  readonly pids: readonly number[]
  end(): Promise<void>
}

type Size = {
  readonly nodes: number
  readonly tiles: number
  readonly pauseMs: number
  /** Within the folder of the test. */
  readonly data?: string
}

export async function openDemo({ nodes, tiles, pauseMs, data = '' }: Size): Promise<OpenedDemo> {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-demo-test-'))
  const pids: number[] = []
  const demo = await FractalDemo.open({
    nodes,
    picture: { width: 96, height: 64, iterations: 300 },
    tiles,
    kill: 0,
    seed: 1,
    pauseMs,
    timeoutMs: 2000,
    folder: join(folder, data),
    onStart: ({ pid }) => pids.push(pid ?? 0),
  })
  return {
    demo,
    pids,
    async end() {
      await demo.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
