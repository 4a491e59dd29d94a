// npm run bench -- recovery: what checkpoints and recovery cost.
import { printCodes } from './recovery-codes.mjs'

export async function printRecovery() {
  await printCodes()
}
