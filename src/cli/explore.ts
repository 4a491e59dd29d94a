/** `conclave explore`: searches all interleavings of a small world. */
import { Command } from 'commander'
import { count } from '../core/text.ts'
import { EXIT } from './errors.ts'
import { searchInterruptibly } from './explore/interruptible.ts'
import type { ExploreFlags } from './explore/request.ts'
import { formatExploreReport } from './explore/text.ts'
import { Interruption } from './interrupt.ts'
import { print, printJson } from './output.ts'
import { startProgress } from './progress.ts'
import { collect } from './values.ts'

export function exploreCommand(): Command {
  return new Command('explore')
    .description('search all interleavings of a small world for violations')
    .option('--protocol <name>', 'name of the protocol')
    .option('--nodes <n>', 'number of nodes')
    .option('--option <name=value>', "set one of the protocol's options (repeat for more)", collect, [])
    .option('--crashes <k>', 'maximum number of crashes')
    .option('--recoveries <k>', 'maximum number of recoveries')
    .option('--flips <k>', 'maximum number of link cuts and repairs')
    .option('--ticks <k>', 'maximum number of clock ticks, for protocols with locks and leases')
    .option('--depth <d>', 'maximum number of steps')
    .option('--max-states <m>', 'stop after this many states', '20000000')
    .option('--memory <mb>', 'stop when the states take this much memory, in MB', '4000')
    .option('--order <order>', 'fifo: links deliver in order; any: in any order')
    .option('--timers <when>', 'any: a timer can fire at any moment; quiet: only if no message is in flight')
    .option(
      '--slack <w>',
      'protocols with reported links: how many changes one end may be ahead of the other; 0: both change together',
    )
    .option('--raw', 'protocols with reported links: send messages without the incarnation of the link')
    .option(
      '--members <ids>',
      'with --from settled: nodes of the first group, such as 2,3; the others start alone',
    )
    .option('--from <start>', 'settled: start after an election; boot: start all nodes')
    .option('--after <file>', 'start from the end of the schedule in this scenario file')
    .option('--only <spec>', 'check only this specification (repeat for more)', collect, [])
    .option('--no-progress', 'skip the search for deadlocks and livelocks')
    .option(
      '--spec <name>',
      'also check this specification (repeat for more; "conclave specs" lists them)',
      collect,
      [],
    )
    .option('--load <file>', 'load a module with your own protocol')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave explore --protocol bully --nodes 3 --option repaired=false
  conclave explore --protocol bully --nodes 3 --crashes 2 --recoveries 2
  conclave explore --protocol bully --nodes 3 --order any --depth 20 --json

The counterexample is a shortest one. Run its scenario with "conclave sim".
The protocol's definition sets the defaults of the bounds.
Exit code 0 if no violation was found, 6 if a specification is violated, 2 for bad input. Ctrl-C prints what the search has
found so far, and exits with 130.`,
    )
    .action(async (flags: ExploreFlags) => {
      process.exitCode = await run(flags)
    })
}

async function run(flags: ExploreFlags): Promise<number> {
  const interruption = new Interruption()
  const progress = startProgress('states')
  try {
    const report = await searchInterruptibly(flags, interruption.signal, ({ states, depth, waiting }) =>
      progress.update(states, 0, `depth ${depth}, ${count(waiting)} waiting`),
    )
    progress.stop()
    if (flags.json === true) printJson(report)
    else print(formatExploreReport(report))
    return report.counterexample === null ? (interruption.exitCode ?? EXIT.ok) : EXIT.violated
  } finally {
    progress.stop()
    interruption.close()
  }
}
