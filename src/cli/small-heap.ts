/**
 * Keeps the young generation of the heap small in commands that run for months.
 * Must be loaded before all other modules.
 */
import { setFlagsFromString } from 'node:v8'

const LONG_RUNNING = ['agent', 'run']

if (LONG_RUNNING.includes(process.argv[2] ?? '')) {
  setFlagsFromString('--semi-space-growth-factor=1')
}
