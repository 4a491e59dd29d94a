/** The range of a delay. */
import { type Micros, microsOf } from '../../core/index.ts'
import type { Span } from '../scenario/scenario.ts'

export type Delay = { readonly least: Micros; readonly most: Micros }

export function delayOf(span: Span): Delay {
  return typeof span === 'number'
    ? { least: microsOf(span), most: microsOf(span) }
    : { least: microsOf(span[0]), most: microsOf(span[1]) }
}
