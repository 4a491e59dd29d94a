/** The errors of jobs, checkpoints and columns: a part of the table in error-catalogue.ts. */
import { type CatalogueEntry, entry } from './error-catalogue-entry.ts'
import { EXIT } from './errors.ts'

const DOOR = 'conclave/recovery'
const KEPT = 'The last committed checkpoint stays.'

export const RECOVERY_ERRORS: { readonly [code: string]: CatalogueEntry } = {
  // Jobs.
  ERR_CONCLAVE_INVALID_JOB_VALUE: entry(
    'InvalidJobValueError',
    DOOR,
    'An input, a state, an output or a result contains what cannot be stored. `field` says where.',
    'Use null, booleans, numbers, strings, arrays, plain objects and Uint8Array.',
    EXIT.usage,
  ),
  ERR_CONCLAVE_JOB_EXISTS: entry(
    'JobExistsError',
    DOOR,
    'The group has a job of this name, or this node has registered a function for it.',
    'Choose another name, or cancel the job first.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_JOB_REFUSED: entry(
    'JobRefusedError',
    DOOR,
    'The group did not accept the job, or the node was closed.',
    'Read the message: it says why.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_UNKNOWN_JOB: entry(
    'UnknownJobError',
    DOOR,
    'The group has no job of this name.',
    'List the jobs with `conclave job list`.',
    EXIT.refused,
  ),
  ERR_CONCLAVE_JOB_FAILED: entry(
    'JobFailedError',
    DOOR,
    'The function of the job threw. The message has its reason.',
    'Correct the job, and submit it again.',
  ),
  ERR_CONCLAVE_JOB_CANCELLED: entry(
    'JobCancelledError',
    DOOR,
    'The job was cancelled before it ended.',
    'Submit it again if it should run.',
  ),
  ERR_CONCLAVE_JOB_FENCED: entry(
    'JobFencedError',
    DOOR,
    'The job no longer belongs to this run: another node runs it, or it was cancelled. Nothing that this run does counts.',
    'Let the function end. The other run continues from the last committed checkpoint.',
  ),
  // Checkpoints.
  ERR_CONCLAVE_CHECKPOINT_ABORTED: entry(
    'CheckpointAbortedError',
    DOOR,
    `The signal of \`checkpoint\` was aborted. ${KEPT} \`cause\` is the reason of the signal.`,
    'Nothing, or store a checkpoint later.',
  ),
  ERR_CONCLAVE_CHECKPOINT_DISK_FULL: entry(
    'CheckpointDiskFullError',
    DOOR,
    `The disks of too many nodes are full, or smaller than the checkpoint. ${KEPT}`,
    'Free space on the nodes that the message names. The job can try again.',
  ),
  ERR_CONCLAVE_CHECKPOINT_TOO_LARGE: entry(
    'CheckpointTooLargeError',
    DOOR,
    `The state, with outputs that the sink does not have yet, exceeds \`maxCheckpointBytes\`. ${KEPT}`,
    'Store less, or raise `maxCheckpointBytes` on all nodes.',
  ),
  ERR_CONCLAVE_CHECKPOINT_FAILED: entry(
    'CheckpointFailedError',
    DOOR,
    `Too few nodes stored their columns, although they are in the view. ${KEPT}`,
    'Check that the TCP ports of the nodes are reachable. The job can try again.',
  ),
  ERR_CONCLAVE_SINK_FAILED: entry(
    'SinkFailedError',
    DOOR,
    'The sink could not store an output. It is offered again until the sink accepts it.',
    'Read the message, and repair the sink.',
  ),
  // Columns.
  ERR_CONCLAVE_COLUMN_MISSING: entry(
    'ColumnMissingError',
    DOOR,
    'The store does not hold the column.',
    'Nothing: the column is rebuilt from the others.',
  ),
  ERR_CONCLAVE_CORRUPT_COLUMN: entry(
    'CorruptColumnError',
    DOOR,
    'The stored bytes are not the bytes that were written.',
    'Nothing: the column is rebuilt from the others. Check the disk if it happens again.',
  ),
  ERR_CONCLAVE_COLUMN_STORE_FULL: entry(
    'ColumnStoreFullError',
    DOOR,
    'The store has no space for a column. Columns stored before are untouched.',
    'Free space, or give the node a larger disk.',
  ),
  ERR_CONCLAVE_COLUMN_STORE_FAILED: entry(
    'ColumnStoreFailedError',
    DOOR,
    'The store of columns failed: an I/O error, missing rights, or a closed store.',
    'Read the message. `cause` is the error of the file system or the object store.',
  ),
  ERR_CONCLAVE_INVALID_COLUMN_KEY: entry(
    'InvalidColumnKeyError',
    DOOR,
    'A column was requested by a name that is not valid.',
    'Use names of jobs with 1 to 100 letters, digits, dots, hyphens or underscores.',
  ),
  ERR_CONCLAVE_UNRESTORABLE: entry(
    'UnrestorableError',
    null,
    'Fewer columns of a checkpoint can be read than its code needs.',
    'Start the nodes that hold the missing columns.',
  ),
  ERR_CONCLAVE_DIGEST_MISMATCH: entry(
    'DigestMismatchError',
    null,
    'The columns are good, but what they restore is not what was stored: a bug.',
    'Report the bug with the black box of the node.',
  ),
  ERR_CONCLAVE_PAYLOAD_CHANGED: entry(
    'PayloadChangedError',
    null,
    'The content of a checkpoint changed while it was stored: a bug.',
    'Report the bug with the black box of the node.',
  ),
  ERR_CONCLAVE_TRANSFER_FAILED: entry(
    'TransferFailedError',
    null,
    'A transfer between two nodes failed: no answer, or an answer that does not bear the key of the group.',
    'Check that the TCP port of the node is reachable and that all nodes have the same key.',
  ),
  ERR_CONCLAVE_INVALID_BODY: entry(
    'InvalidBodyError',
    null,
    'Bytes from another node are not authentic, or incomplete. They were not used.',
    'Check that all nodes have the same key and the same setting for secrecy.',
  ),
}
