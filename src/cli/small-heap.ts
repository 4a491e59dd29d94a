/**
 * Keeps the part of the heap for what is short-lived small, for commands that run for months and have little to
 * remember: about 15 MB less resident. It must be said before anything else is loaded.
 */
import { setFlagsFromString } from 'node:v8'

const LONG_RUNNING = ['agent', 'run']

if (LONG_RUNNING.includes(process.argv[2] ?? '')) {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--optimize-for-size')
}
