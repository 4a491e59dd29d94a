/** What a node and its guardian tell each other: lines of JSON, on one channel for each direction. */
import type { Micros } from '../../core/index.ts'
import type { CommandTrail } from './descendants.ts'

/** Descriptors of the guardian. */
export const REQUESTS_DESCRIPTOR = 3
export const REPORTS_DESCRIPTOR = 4

export type GuardianRequest =
  | {
      readonly type: 'start'
      readonly command: readonly string[]
      readonly env: { readonly [name: string]: string }
      /** The first deadline. In one request: a node that is stopped between two would leave a command without one. */
      readonly end: Micros
      readonly kill: Micros
    }
  /** SIGTERM at `end`, SIGKILL at `kill`. */
  | { readonly type: 'deadline'; readonly end: Micros; readonly kill: Micros }
  /** SIGTERM now, SIGKILL after `graceMs`. */
  | { readonly type: 'stop'; readonly graceMs: number }

export type GuardianReport =
  /** `group`: the folder of the control group for commands; null without one. */
  | { readonly type: 'ready'; readonly group: string | null }
  /** Lets the node kill the command if the guardian exits. Sent before the start, and again when the pid is known. */
  | { readonly type: 'started'; readonly trail: CommandTrail }
  | { readonly type: 'failed'; readonly message: string }
  /** The command was not started, because `kill` had passed. */
  | { readonly type: 'skipped' }
  | {
      readonly type: 'ended'
      readonly code: number | null
      readonly signal: string | null
      /** Whether the guardian sent SIGTERM or SIGKILL. */
      readonly isTerminated: boolean
    }
