/** A thread that renders tiles of the reference picture. */
import { parentPort, workerData } from 'node:worker_threads'
import { renderRow } from './picture/mandelbrot.ts'
import type { ReferenceTile, ReferenceWork } from './reference.ts'

const { picture, tiles } = workerData as ReferenceWork

for (const tile of tiles) {
  const rows = Array.from({ length: tile.height }, (_, row) => renderRow(picture, tile, row))
  parentPort?.postMessage({ tile, rows } satisfies ReferenceTile)
}
