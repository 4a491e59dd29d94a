// npm run bench -- recovery: what checkpoints and recovery cost.
import { printCheckpoint } from './recovery-checkpoint.mjs'
import { printCodes } from './recovery-codes.mjs'

export async function printRecovery() {
  await printCodes()
  await printCheckpoint()
}
