/**
 * `conclave doctor`: checks this node as it is configured, before or while it runs; with `--store` alone, that a store can
 * hold registers.
 */
import { Command } from 'commander'
import { hostedNames } from '../protocols/index.ts'
import type { Config } from '../service/config/index.ts'
import type { JoinOptions } from '../service/node/index.ts'
import { type Finding, printFinding } from './doctor/findings.ts'
import { checkClocks, judgeHost, sampleHost } from './doctor/host.ts'
import { CANNOT_KNOW, checkNode, type NodeCheck } from './doctor/node.ts'
import { checkStore, readStoreConfig } from './doctor/store.ts'
import { judgeLateness, timingOf } from './doctor/timing.ts'
import { EXIT } from './errors.ts'
import { Interruption } from './interrupt.ts'
import {
  addAgentHttpFlags,
  addNodeFlags,
  loadOwnProtocol,
  type NodeFlags,
  readConfig,
  type ServiceFlags,
} from './node-flags.ts'
import { print, printJson, printNote } from './output.ts'
import { parseWholeNumber } from './values.ts'

type DoctorFlags = NodeFlags &
  ServiceFlags & {
    readonly acceptWeak?: boolean
    readonly rounds: string
    readonly timeoutMs: string
    readonly measureMs: string
    readonly json?: boolean
  }

export function doctorCommand(): Command {
  return addAgentHttpFlags(
    addNodeFlags(
      new Command('doctor').description(
        'check this node as configured: clocks, scheduling, ports, rights, fsync, peers, delays, versions; with --store, that a store can hold registers',
      ),
    ),
  )
    .option(
      '--accept-weak',
      'with --store: continue even if the store may lose acknowledged writes or return old values',
    )
    .option('--rounds <n>', 'with --store: number of trials per check', '100')
    .option('--timeout-ms <ms>', 'with --store: maximum duration of one operation', '5000')
    .option('--measure-ms <ms>', 'how long lateness and round trips are measured', '2500')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave doctor --config /etc/conclave/billing.yaml
  CONCLAVE_CONFIG=/etc/conclave/billing.yaml conclave doctor --json
  conclave doctor --store redis://10.0.0.5

The node is configured as for "conclave agent": by flags, the environment or a file. If its agent runs, the doctor asks it
over HTTP. Otherwise the doctor asks the peers itself from the node's own address, for a few seconds, and takes part in no
election. In both cases it resolves the configured addresses of the peers itself, and names the entry that is wrong. It
creates nothing. Without a configuration it checks this host only.

With --store and no other description of a node it checks the store, in a group of its own (${hostedNames('store').join(', ')}).

✓ is fine, ▲ works but deserves attention, ✖ does not work; the line after → says what to do. Exit code 0 if nothing has
failed, 1 if something has, 2 for an invalid configuration. For a store: 4 if it is unreachable, 5 if it refuses, 6 if it
violates a requirement. Ctrl-C prints what is known so far and exits with 130.`,
    )
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await doctor(flags)
    })
}

async function doctor(flags: DoctorFlags): Promise<number> {
  const rounds = parseWholeNumber('--rounds', flags.rounds, 1)
  const timeoutMs = parseWholeNumber('--timeout-ms', flags.timeoutMs, 1)
  const isJson = flags.json === true
  if (flags.store !== undefined && !describesNode(flags))
    return checkStore(readStoreConfig(flags.store, flags.acceptWeak === true), { rounds, timeoutMs, isJson })
  await loadOwnProtocol(flags)
  const isConfigured = describesNode(flags) || Object.keys(process.env).some((name) => CONFIGURES.test(name))
  const config = isConfigured ? readConfig(flags) : null
  const measuredMs = parseWholeNumber('--measure-ms', flags.measureMs, 1)
  return checkHere(config, isJson, { measuredMs, store: { rounds, timeoutMs } })
}

/** Variables of a node. Others, such as CONCLAVE_DEBUG and CONCLAVE_AGENT, describe no node. */
const CONFIGURES = /^CONCLAVE_(CONFIG|GROUP|ID|LISTEN|PEER|PEERS|KEY_FILE|DATA)$/

function describesNode({ config, group, id, listen, peer, data }: DoctorFlags): boolean {
  return [config, group, id, listen, data].some((each) => each !== undefined) || peer.length > 0
}

/** Checks a node, or without a configuration this host. */
async function checkHere(
  config: Config | null,
  isJson: boolean,
  how: Pick<NodeCheck, 'measuredMs' | 'store'>,
): Promise<number> {
  const findings: Finding[] = []
  const interruption = new Interruption()
  const { signal } = interruption
  const report = (finding: Finding): void => {
    findings.push(finding)
    if (!isJson) printFinding(finding)
  }
  try {
    const measured =
      config === null
        ? await checkHost({ report, signal, ...how })
        : await checkNode(config, { report, signal, ...how })
    const [first] = config?.groups ?? []
    const has = (level: Finding['level']): boolean => findings.some((each) => each.level === level)
    if (isJson)
      printJson({
        node: first === undefined ? null : { group: first.node.group, id: first.node.id },
        fit: !has('error'),
        ...(interruption.isInterrupted ? { interrupted: true } : {}),
        findings,
        measured,
        cannotKnow: CANNOT_KNOW,
      })
    else printEnd(interruption.isInterrupted)
    return interruption.exitCode ?? (has('error') ? EXIT.failure : EXIT.ok)
  } finally {
    interruption.close()
  }
}

async function checkHost({ report, signal, measuredMs }: NodeCheck) {
  printNote(
    'no node is configured: checking this host only; use --config FILE, flags or CONCLAVE_* variables',
  )
  for (const finding of checkClocks()) report(finding)
  const sample = await sampleHost(measuredMs, signal)
  for (const finding of judgeHost(sample)) report(finding)
  const { lateness } = sample
  // What a group with default settings assumes.
  const timing = timingOf({ id: 'a' } as JoinOptions, ['b', 'c'])
  if (lateness !== null && timing !== null) report(judgeLateness(lateness, timing))
  return { latenessMs: lateness, roundTripMs: {} }
}

function printEnd(isInterrupted: boolean): void {
  print('')
  if (isInterrupted) print('interrupted: the remaining checks were not made')
  print('Not checked:')
  for (const text of CANNOT_KNOW) print(`- ${text}`)
}
