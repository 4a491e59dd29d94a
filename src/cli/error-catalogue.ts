/**
 * Every error that callers can meet, by its stable `code`: what it means, what to do, and how a command that meets it
 * exits. `docs/reference/errors.md` is generated from this table, and a test produces each error in it.
 */
import { type CatalogueEntry, entry } from './error-catalogue-entry.ts'
import { RECOVERY_ERRORS } from './error-catalogue-recovery.ts'
import { EXIT } from './errors.ts'

export const ERROR_CATALOGUE: { readonly [code: string]: CatalogueEntry } = {
  // The library.
  ERR_CONCLAVE_LEADERSHIP_LOST: entry(
    'LeadershipLostError',
    'conclave',
    'The term has ended, or the lease is shorter than `assertHeld` asked for. `reason` says why.',
    'Stop acting as the leader. `lead` calls the work again in the next term.',
  ),
  ERR_CONCLAVE_INVALID_OPTIONS: entry(
    'InvalidOptionsError',
    'conclave',
    'An option of `join` is wrong. `field` names it.',
    'Correct the option. The message says what is accepted.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_INVALID_ARGUMENT: entry(
    'InvalidArgumentError',
    'conclave',
    'A method was called with a wrong argument. `field` names it. Nothing has happened.',
    'Correct the call.',
  ),
  ERR_CONCLAVE_ALREADY_LEADING: entry(
    'AlreadyLeadingError',
    'conclave',
    '`lead` was called while another `lead` of the same node is running.',
    'Do all the work in one `lead`, or abort the first and wait until it returns.',
  ),
  ERR_CONCLAVE_NODE_CLOSED: entry(
    'NodeClosedError',
    'conclave',
    'The node is closed. (An aborted `join` rejects with the reason of its signal instead.)',
    'Join again if the process should still take part.',
  ),
  ERR_CONCLAVE_COMMAND_REFUSED: entry(
    'CommandRefusedError',
    'conclave',
    'The protocol refused a command, for example `addVoter` on a node that does not lead.',
    'Read the message: it says which condition is not met.',
  ),
  ERR_CONCLAVE_WORKER_LOST: entry(
    'WorkerLostError',
    'conclave',
    'The worker thread of the election ended or did not start. The node is closed. `cause` is the error of the thread.',
    'Join again, or restart the process.',
  ),
  ERR_CONCLAVE_STORE_FAILED: entry(
    'StoreFailedError',
    'conclave',
    'The store shows that this node must not go on, for example that it was removed from the group.',
    'Read the message. Restart the node only after the cause is fixed.',
  ),
  // Keys, data directories.
  ERR_CONCLAVE_INVALID_KEY: entry(
    'InvalidKeyError',
    'conclave',
    'The key of the group is missing or shorter than 16 bytes.',
    'Create a key of 32 random bytes and copy it to all nodes.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_STORAGE_IN_USE: entry(
    'StorageInUseError',
    'conclave',
    'Another process uses the data directory.',
    'Give each process its own data directory.',
  ),
  ERR_CONCLAVE_STORAGE_LOCK: entry(
    'StorageLockError',
    'conclave',
    'The data directory cannot be locked: its file system does not support Unix sockets.',
    'Put the data directory on a local file system.',
  ),
  ERR_CONCLAVE_STORAGE_FAILED: entry(
    'StorageFailedError',
    'conclave',
    'A write to the data directory failed. `cause` is the error of the file system.',
    'Free disk space or repair the file system. The node gives no vote until a write succeeds.',
  ),
  ERR_CONCLAVE_UNUSABLE_FOLDER: entry(
    'UnusableFolderError',
    'conclave',
    'The data directory cannot be created, read or written.',
    'Check the path, its owner and its permissions.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_DAMAGED_STORAGE: entry(
    'DamagedStorageError',
    'conclave',
    'The file in the data directory does not match its checksum. What the node promised is unknown.',
    'Start the node with a new id and an empty data directory, and replace the old id in the group.',
  ),
  ERR_CONCLAVE_CORRUPT_STABLE_DATA: entry(
    'CorruptStableDataError',
    null,
    'The stored state is intact but is not a state of the configured protocol.',
    'Use the data directory that this node had last, never a backup, or stop all nodes and run `conclave recover` on each.',
  ),
  ERR_CONCLAVE_LATER_INCARNATION: entry(
    'LaterIncarnationError',
    null,
    'The data directory of a group has seen a later incarnation of this process: the wall clock was set back.',
    'Join this group before the others.',
  ),
  ERR_CONCLAVE_UNUSABLE_INCARNATION: entry(
    'UnusableIncarnationError',
    null,
    'The incarnation number in the data directory is out of range.',
    'Run `conclave recover` on the data directory.',
  ),
  ERR_CONCLAVE_ASSERTION_FAILED: entry(
    'AssertionFailedError',
    'conclave/core',
    'An invariant of Conclave does not hold: a bug. A node that meets it ends its term and closes.',
    'Report the bug with the black box of the node (docs/how-to/replay-a-black-box.md).',
  ),
  // Stores.
  ERR_CONCLAVE_INVALID_STORE: entry(
    'InvalidStoreError',
    'conclave/registers',
    'The description of the store is wrong. `field` names the part.',
    'Correct it. The reference of stores lists all forms.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_MISSING_CLIENT: entry(
    'MissingClientError',
    'conclave/registers',
    'The store needs a package that is not installed.',
    'Run the `npm install` command in the message.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_STORE_UNREACHABLE: entry(
    'StoreUnreachableError',
    'conclave/registers',
    'The store does not answer.',
    'Check that the store runs and that the address is right.',
    EXIT.unreachable,
  ),
  ERR_CONCLAVE_STORE_ACCESS_DENIED: entry(
    'StoreAccessDeniedError',
    'conclave/registers',
    'The store rejects the credentials, or the user lacks a permission that registers need.',
    'Correct the credentials, or grant the permission that the message names.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_UNSUITABLE_STORE: entry(
    'UnsuitableStoreError',
    'conclave/registers',
    'The store, as configured, does not give the guarantees that registers need.',
    'Change the setting that the message names.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_ID_IN_USE: entry(
    'IdInUseError',
    'conclave/registers',
    'Another running process uses the same node id.',
    'Give this process its own id, or stop the other process first.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_CELL_LOCKED: entry(
    'CellLockedError',
    'conclave/registers',
    'Another process holds the lock on the register file of this id.',
    'Give this process its own id, or stop the other process first.',
  ),
  ERR_CONCLAVE_SUPERSEDED: entry(
    'SupersededError',
    'conclave/registers',
    'Another process took over the register of this node, or the node was removed from the group.',
    'Stop this process.',
  ),
  ERR_CONCLAVE_NODE_REMOVED: entry(
    'NodeRemovedError',
    'conclave/registers',
    'The node was removed from the group for good.',
    'Start the process with a new id.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_CORRUPT_BLOCK: entry(
    'CorruptBlockError',
    'conclave/registers',
    'A register does not hold what a node wrote. No leader is elected while it is there.',
    'Restore the register, or stop the whole group and start a new one.',
  ),
  ERR_CONCLAVE_UNSUPPORTED_FORMAT: entry(
    'UnsupportedFormatError',
    'conclave/registers',
    'A register was written by another version of Conclave.',
    'Run the same version on every node.',
  ),
  ERR_CONCLAVE_STORE_ROLLED_BACK: entry(
    'StoreRolledBackError',
    'conclave/registers',
    'The store lost acknowledged writes or returned stale data. No election on it is safe.',
    'Stop the whole group, repair the store and start with a new group name.',
  ),
  ERR_CONCLAVE_BLOCK_TOO_LARGE: entry(
    'BlockTooLargeError',
    'conclave/registers',
    'The register of a node does not fit into 480 bytes.',
    'Use shorter ids.',
  ),
  // Fencing.
  ERR_CONCLAVE_STALE_TOKEN: entry(
    'StaleTokenError',
    'conclave/fencing/postgres',
    'The resource has seen a higher fencing token: another node has led since.',
    'Stop acting as the leader.',
  ),
  ERR_CONCLAVE_IMPLAUSIBLE_TOKEN: entry(
    'ImplausibleTokenError',
    'conclave/fencing/postgres',
    'The token is too far above the highest token seen. No group reaches such a token.',
    'Find where the token comes from. Raise `maxTokenGap` only if it is real.',
  ),
  // The agent, its client, the command line.
  ERR_CONCLAVE_USAGE: entry(
    'UsageError',
    null,
    'The command line is wrong.',
    'Read the message, or run the command with `--help`.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_INVALID_CONFIG: entry(
    'InvalidConfigError',
    null,
    'The configuration is wrong. The message has one line per problem, each with its place.',
    'Correct each line. `conclave agent --check` shows the result.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_CANNOT_LISTEN: entry(
    'CannotListenError',
    null,
    'The agent cannot listen on its HTTP address.',
    'Choose another address with `--http`, or stop the process that uses it.',
  ),
  ERR_CONCLAVE_AGENT_UNREACHABLE: entry(
    'AgentUnreachableError',
    'conclave/client',
    'No agent answers at the address.',
    'Check that the agent runs and that `--agent` is its address.',
    EXIT.unreachable,
  ),
  ERR_CONCLAVE_REQUEST_REFUSED: entry(
    'RequestRefusedError',
    'conclave/client',
    'The agent answered with an error. `status` is the HTTP status, `kind` the `code` in the body.',
    'Look up `kind` in the HTTP reference.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_GUARDIAN_LOST: entry(
    'GuardianLostError',
    null,
    'The guardian process of `conclave run` is gone. The node has killed the command if one ran.',
    'Find out what killed the guardian, then start the node again.',
  ),
  ERR_CONCLAVE_COMMAND_FAILED: entry(
    'CommandFailedError',
    null,
    'The command of `conclave run` could not be started.',
    'Check the path and the permissions of the command.',
  ),
  ...RECOVERY_ERRORS,
  // The workbench and the testkit.
  ERR_CONCLAVE_INVALID_SCENARIO: entry(
    'InvalidScenarioError',
    'conclave/sim',
    'A scenario file is wrong. The message has one line per problem, each with its file, line, column and field.',
    'Correct each line.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_INVALID_TRACE: entry(
    'InvalidTraceError',
    'conclave/trace',
    'A trace file cannot be read: a line is not a record, or the header is missing.',
    'Record the trace again, or name the right file.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_UNDRAWABLE_TRACE: entry(
    'UndrawableTraceError',
    'conclave/trace',
    'The trace has too many nodes or no records in the range.',
    'Choose another range, or fewer nodes.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_RUNAWAY_RUN: entry(
    'RunawayRunError',
    'conclave/sim',
    'A simulated run took more steps at one instant than any protocol should: a loop without time.',
    'Look for timers of 0 ms and messages that answer each other.',
  ),
  ERR_CONCLAVE_NODE_CRASHED: entry(
    'NodeCrashedError',
    'conclave/testkit',
    'The simulated node was crashed by the test.',
    'Expect it: `lead` of a crashed node rejects with this error.',
  ),
}

/** The exit code of a command that ends with an error of this code. */
export function exitCodeOf(code: string | undefined): number {
  return (code === undefined ? undefined : ERROR_CATALOGUE[code])?.exit ?? EXIT.failure
}
