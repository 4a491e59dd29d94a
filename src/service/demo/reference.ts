/** Renders the picture without failures, in threads of this process. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Picture, Tile } from './picture/mandelbrot.ts'
import { Canvas } from './picture/tiles.ts'

/** The sources are not run as they are: their tests use the compiled thread. */
const SCRIPT = new URL('../../../dist/service/demo/reference-worker.js', import.meta.url)

export type ReferenceWork = { readonly picture: Picture; readonly tiles: readonly Tile[] }
export type ReferenceTile = { readonly tile: Tile; readonly rows: readonly Uint8Array[] }

/** Rejects with the signal's reason when it is aborted. */
export async function renderReference(
  picture: Picture,
  tiles: readonly Tile[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  signal.throwIfAborted()
  const canvas = new Canvas(picture)
  const threads = Math.min(availableParallelism(), tiles.length)
  const parts = Array.from({ length: threads }, (_, thread) =>
    tiles.filter((_tile, index) => index % threads === thread),
  )
  await Promise.all(
    parts.map((part) =>
      renderPart({ picture, tiles: part }, signal, ({ tile, rows }) => {
        for (const [row, bytes] of rows.entries()) canvas.drawRow(tile, row, bytes)
      }),
    ),
  )
  return canvas.pixels
}

function renderPart(
  work: ReferenceWork,
  signal: AbortSignal,
  onTile: (tile: ReferenceTile) => void,
): Promise<void> {
  const worker = new Worker(SCRIPT, { workerData: work, execArgv: [] })
  const onAbort = (): void => void worker.terminate()
  signal.addEventListener('abort', onAbort, { once: true })
  return new Promise<void>((resolve, reject) => {
    worker.on('message', onTile)
    worker.once('error', reject)
    worker.once('exit', (code) => {
      signal.removeEventListener('abort', onAbort)
      if (code === 0) resolve()
      else reject((signal.reason as Error | undefined) ?? new Error(`a thread ended with code ${code}`))
    })
  })
}
