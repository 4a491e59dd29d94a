/** The flags of `conclave demo fractal`. */
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { MOST_JOBS } from '../../recovery/manager/types.ts'
import type { DemoOptions } from '../../service/demo/demo.ts'
import { toleranceOf } from '../../service/recovery/cluster/options.ts'
import { UsageError } from '../errors.ts'
import { parseMilliseconds, parseWholeNumber } from '../values.ts'

export type FractalFlags = {
  readonly nodes: string
  readonly width: string
  readonly height: string
  readonly tiles: string
  readonly iterations: string
  readonly kill: string
  readonly seed: string
  readonly pauseMs: string
  readonly timeoutMs: string
  readonly port: string
  readonly page: boolean
  readonly stay?: boolean
  readonly out?: string
  readonly json?: boolean
}

export type FractalSettings = Omit<DemoOptions, 'folder' | 'onStart'> & {
  /** Null: no page. */
  readonly port: number | null
  readonly stays: boolean
  readonly out: string | null
  readonly isJson: boolean
}

/** The processes share one machine. */
const MAX_NODES = 16
const MAX_PIXELS = 8192
const MAX_ITERATIONS = 10_000_000
const MAX_KILLS = 1000
/** Shorter timeouts take ordinary scheduling delays for losses. */
const LEAST_TIMEOUT_MS = 300
const MAX_TIMEOUT_MS = 60_000
const MAX_PAUSE_MS = 60_000
const MAX_PORT = 65_535

export function parseFractalFlags(flags: FractalFlags): FractalSettings {
  const nodes = parseBetween('--nodes', flags.nodes, 2, MAX_NODES)
  const width = parseBetween('--width', flags.width, 1, MAX_PIXELS)
  const height = parseBetween('--height', flags.height, 1, MAX_PIXELS)
  const iterations = parseBetween('--iterations', flags.iterations, 1, MAX_ITERATIONS)
  const tiles = parseBetween('--tiles', flags.tiles, 1, MOST_JOBS)
  if (tiles > width || tiles > height)
    throw new UsageError(
      `--tiles ${tiles}: must be at most the width and the height of the picture`,
      '--tiles',
    )
  const kill = parseBetween('--kill', flags.kill, 0, MAX_KILLS)
  if (kill > 0 && toleranceOf(nodes) === 0)
    throw new UsageError(
      `--kill ${kill}: a group of ${nodes} nodes tolerates no loss; use --nodes 3 or more`,
      '--kill',
    )
  const timeoutMs = parseMilliseconds('--timeout-ms', flags.timeoutMs)
  if (timeoutMs < LEAST_TIMEOUT_MS || timeoutMs > MAX_TIMEOUT_MS)
    throw new UsageError(
      `--timeout-ms ${flags.timeoutMs}: must be from ${LEAST_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}`,
      '--timeout-ms',
    )
  const port = parseBetween('--port', flags.port, 0, MAX_PORT)
  if (flags.stay === true && !flags.page)
    throw new UsageError('--stay: needs the page; remove --no-page', '--stay')
  return {
    nodes,
    picture: { width, height, iterations },
    tiles,
    kill,
    seed: parseWholeNumber('--seed', flags.seed, 0),
    pauseMs: parsePause(flags.pauseMs),
    timeoutMs,
    port: flags.page ? port : null,
    stays: flags.stay === true,
    out: flags.out === undefined ? null : parseOut(flags.out),
    isJson: flags.json === true,
  }
}

function parseBetween(flag: string, text: string, least: number, most: number): number {
  const value = parseWholeNumber(flag, text, least)
  if (value > most) throw new UsageError(`${flag} ${text}: must be at most ${most}`, flag)
  return value
}

function parsePause(text: string): number {
  const value = parseMilliseconds('--pause-ms', text)
  if (value > MAX_PAUSE_MS)
    throw new UsageError(`--pause-ms ${text}: must be at most ${MAX_PAUSE_MS}`, '--pause-ms')
  return value
}

/** Found before the picture is rendered. */
function parseOut(file: string): string {
  const folder = dirname(resolve(file))
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`--out ${file}: there is no folder ${folder}`, '--out')
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new UsageError(`--out ${file}: is a folder; name a file`, '--out')
  return file
}
