/** The job of one tile: renders its rows and stores a checkpoint every few rows. Runs in a worker thread of a node. */
import { constants, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobContext } from '../recovery/jobs/context.ts'
import { type Picture, renderRow, type Tile } from './picture/mandelbrot.ts'

export type TileInput = {
  readonly picture: Picture
  readonly tile: Tile
  /** Rows between two checkpoints. */
  readonly checkpointRows: number
  /** Idle time after each checkpoint. */
  readonly pauseMs: number
}

/** The next row. Finished rows are outputs, and need not be in the state. */
type TileState = { readonly row: number }

export default async function renderTile(ctx: JobContext<TileState, TileInput>): Promise<TileState> {
  yieldToProtocol()
  const { picture, tile, checkpointRows, pauseMs } = ctx.input
  const { row: first } = (await ctx.restore()) ?? { row: 0 }
  ctx.log(startedAt(first))
  for (let row = first; row < tile.height; row++) {
    ctx.emit(row, renderRow(picture, tile, row))
    ctx.progress((row + 1) / tile.height)
    if ((row + 1) % checkpointRows !== 0) continue
    // oxlint-disable-next-line no-await-in-loop -- the next rows belong to the next checkpoint
    await storeState(ctx, { row: row + 1 })
    // oxlint-disable-next-line no-await-in-loop -- slows the picture down
    await sleep(pauseMs, undefined, { signal: ctx.signal })
  }
  return { row: tile.height }
}

const STARTED = 'starts at row '

function startedAt(row: number): string {
  return `${STARTED}${row}`
}

/** The row at which a run starts, from a line of its log; null if the line says something else. */
export function parseStart(line: string): number | null {
  return line.startsWith(STARTED) ? Number(line.slice(STARTED.length)) : null
}

/** If a checkpoint cannot be stored, the job continues: the next one contains everything that this one has. */
async function storeState(ctx: JobContext<TileState, TileInput>, state: TileState): Promise<void> {
  try {
    await ctx.checkpoint(state)
  } catch (error) {
    ctx.signal.throwIfAborted()
    ctx.log((error as Error).message)
  }
}

/** On Linux, a priority belongs to a thread. Threads that render must not delay the threads that exchange messages. */
function yieldToProtocol(): void {
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
}
