/** The ballot held to more than it promises: once all is quiet, somebody must have won. */
import { present } from 'conclave/core'
import { specNamed } from 'conclave/specs'
import { oneWinner } from './one-winner.mjs'

export { protocol } from './ballot.mjs'

export const specs = [oneWinner, present(specNamed('live-leader'), 'live-leader')]
