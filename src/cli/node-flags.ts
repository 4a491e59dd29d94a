/** How a node is described on the command line, or in the environment: the same for every command that runs one. */
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { JoinOptions } from '../member/index.ts'
import { UsageError } from './errors.ts'
import { oneOf, options, wholeNumber } from './values.ts'

export type NodeFlags = {
  readonly group?: string
  readonly id?: string
  readonly listen?: string
  readonly peer: readonly string[]
  readonly keyFile?: string
  readonly data?: string
  readonly mode?: string
  readonly profile?: string
  readonly priority?: string
  readonly option: readonly string[]
}

const collect = (text: string, before: readonly string[]): readonly string[] => [...before, text]

export function withNodeFlags(command: Command): Command {
  const flag = (flags: string, meaning: string, name: string): Option =>
    new Option(flags, meaning).env(`CONCLAVE_${name}`)
  return command
    .addOption(flag('--group <name>', 'the group that this node belongs to', 'GROUP'))
    .addOption(flag('--id <id>', 'the name of this node in the group', 'ID'))
    .addOption(flag('--listen <host:port>', 'where it listens, UDP', 'LISTEN'))
    .option('--peer <id=host:port>', 'another node of the group (repeat for each)', collect, [])
    .addOption(flag('--key-file <file>', "the cluster's key, at least 16 bytes", 'KEY_FILE'))
    .addOption(flag('--data <folder>', 'what must survive a crash is kept here', 'DATA'))
    .addOption(flag('--mode <mode>', 'majority: one leader in all; local: one in each partition', 'MODE'))
    .addOption(flag('--profile <profile>', 'lan, region or wan', 'PROFILE'))
    .addOption(flag('--priority <n>', 'higher is preferred', 'PRIORITY'))
    .option('--option <name=value>', "set one of the protocol's options (repeat for more)", collect, [])
}

export function joinOptions(flags: NodeFlags): JoinOptions {
  const peers =
    flags.peer.length > 0 ? flags.peer : (process.env['CONCLAVE_PEER'] ?? '').split(/[\s,]+/).filter(Boolean)
  const { mode, profile, priority, data } = flags
  return {
    group: needed('--group', flags.group),
    id: needed('--id', flags.id),
    listen: needed('--listen', flags.listen),
    peers,
    key: keyIn(needed('--key-file', flags.keyFile)),
    options: options(flags.option),
    ...(data === undefined ? {} : { data }),
    ...(mode === undefined ? {} : { mode: oneOf('--mode', mode, ['local', 'majority']) }),
    ...(profile === undefined ? {} : { profile: oneOf('--profile', profile, ['lan', 'region', 'wan']) }),
    ...(priority === undefined ? {} : { priority: wholeNumber('--priority', priority, -1_000_000) }),
  }
}

function needed(flag: string, value: string | undefined): string {
  if (value !== undefined && value !== '') return value
  const name = flag.slice(2).toUpperCase().replaceAll('-', '_')
  throw new UsageError(`${flag} is missing: give it, or set CONCLAVE_${name}`, flag)
}

function keyIn(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(
      `--key-file ${file}: ${(error as Error).message}; make one with "head -c 32 /dev/urandom > ${file}"`,
      '--key-file',
    )
  }
}
