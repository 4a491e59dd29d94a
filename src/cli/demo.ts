/** `conclave demo`: demonstrations on this machine. `fractal` renders a picture on a group whose nodes are killed. */
import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { count } from '../core/text.ts'
import { Reaper } from '../service/chaos/reaper.ts'
import { type DemoOptions, type DemoResult, FractalDemo } from '../service/demo/demo.ts'
import { encodePng } from '../service/demo/picture/png.ts'
import { serveDemo } from '../service/demo/server.ts'
import { type FractalFlags, type FractalSettings, parseFractalFlags } from './demo/flags.ts'
import { EXIT, UsageError } from './errors.ts'
import { print, printJson, printNote } from './output.ts'
import { startProgress } from './progress.ts'
import { makeTemporaryFolder } from './temporary.ts'

export function demoCommand(): Command {
  return new Command('demo')
    .description('see it work on this machine: a fractal on a group whose nodes are killed')
    .addCommand(fractalCommand())
    .addHelpText('after', '\nExample:\n  conclave demo fractal --kill 2')
}

function fractalCommand(): Command {
  return new Command('fractal')
    .description('render a picture as checkpointed jobs, kill nodes meanwhile, and compare it bit for bit')
    .option('--nodes <n>', 'number of nodes, each a process', '5')
    .option('--width <pixels>', 'width of the picture', '1200')
    .option('--height <pixels>', 'height of the picture', '800')
    .option('--tiles <n>', 'number of tiles; each is a job', '24')
    .option('--iterations <n>', 'iterations after which a point counts as inside the set', '5000')
    .option(
      '--kill <n>',
      'kill this many random nodes with kill -9 while it renders, and revive them later',
      '0',
    )
    .option('--seed <n>', 'seed of the kills: which nodes, and when', '1')
    .option('--pause-ms <ms>', 'rest after each checkpoint, so that the picture grows more slowly', '0')
    .option(
      '--timeout-ms <ms>',
      'silence after which a node counts as lost; longer for a busy machine',
      '1500',
    )
    .option('--port <n>', 'port of the page, on loopback; 0 for any free port', '7490')
    .option('--no-page', 'do not serve the page')
    .option('--stay', 'keep serving the page at the end, until Ctrl-C')
    .option('--out <file>', 'write the picture to this file, as PNG')
    .option('--json', 'print the result as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave demo fractal                             kill and revive nodes by hand, on the page
  conclave demo fractal --kill 3 --out fractal.png
  conclave demo fractal --width 300 --height 200 --tiles 6 --kill 2 --json

The page shows the picture as it grows, which node computes which tile, where the columns of the checkpoints are, and
what the fault manager does. Never more nodes are down at once than the group tolerates: 2 of 5 or more, 1 of 3 or 4.

At the end the picture is computed again in this process, without failures, and compared. All processes end with this
one, also on Ctrl-C, and the temporary folder is removed.

Exit code: 0 if both pictures are identical; 6 if they differ; 1 if the picture could not be completed; 2 for bad input.`,
    )
    .action(async (flags: FractalFlags) => {
      process.exitCode = await runFractal(parseFractalFlags(flags))
    })
}

async function runFractal(settings: FractalSettings): Promise<number> {
  const ended = new AbortController()
  const onSignal = (): void => ended.abort(new InterruptedError())
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, onSignal)
  const folder = makeTemporaryFolder('conclave-demo-')
  const reaper = new Reaper(folder)
  const options: DemoOptions = { ...settings, folder, onStart: (child) => reaper.watch(child) }
  const demo = await FractalDemo.open(options)
  try {
    return await show(demo, settings, ended.signal)
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error
    printNote('interrupted; all processes are ended')
    return EXIT.failure
  } finally {
    ended.abort()
    await demo.close()
    await reaper.close()
    for (const signal of signals) process.removeListener(signal, onSignal)
  }
}

/** A signal has ended the command. */
class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
}

async function show(demo: FractalDemo, settings: FractalSettings, signal: AbortSignal): Promise<number> {
  const { port, stays, out, isJson } = settings
  const server = port === null ? null : await serveDemo(demo, port, signal)
  if (server !== null) printNote(`page: ${server.url}`)
  const progress = startProgress('fractal')
  demo.observed.onEvent = ({ seconds, text }) => {
    if (!process.stderr.isTTY) printNote(`${seconds.toFixed(1)} s  ${text}`)
  }
  const stop = demo.onChange(() => {
    const { counts, done } = demo.observed
    const note = `${count(counts.kills)} killed, ${count(counts.resumed)} resumed, ${count(counts.checkpoints)} checkpoints`
    progress.update(Math.round(done * 100), 100, note)
  })
  try {
    const result = await demo.run(signal)
    stop()
    progress.stop()
    if (out !== null) writePicture(demo, out)
    printResult(result, settings)
    if (server !== null && stays) await untilAborted(signal)
    return result.identical ? EXIT.ok : EXIT.violated
  } finally {
    stop()
    progress.stop()
    if (!isJson && server !== null) printNote('the page is closed')
    await server?.close()
  }
}

function writePicture(demo: FractalDemo, file: string): void {
  const { picture, pixels } = demo.observed.canvas
  try {
    writeFileSync(file, encodePng(picture.width, picture.height, pixels))
  } catch (error) {
    throw new UsageError(`--out ${file}: cannot be written: ${(error as Error).message}`, '--out')
  }
}

function printResult(result: DemoResult, { nodes, tiles, picture, seed, isJson }: FractalSettings): void {
  const { identical, digest, seconds, kills, revivals, resumed, checkpoints, duplicates, fenced, views } =
    result
  const rounded = Math.round(seconds * 10) / 10
  if (isJson) {
    const counts = { kills, revivals, resumed, checkpoints, duplicates, fenced, views }
    printJson({ identical, ...counts, seconds: rounded, nodes, tiles, ...picture, seed, digest })
    return
  }
  print(
    identical
      ? 'identical to the picture without failures, bit for bit'
      : 'DIFFERENT from the picture without failures',
  )
  print(
    `${rounded} s; nodes killed: ${kills}; tiles resumed: ${resumed}; checkpoints: ${checkpoints}; duplicates dropped: ${duplicates}; views: ${views}`,
  )
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
  })
}
