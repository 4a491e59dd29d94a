/** Shared links: the whole run in the fragment of the address. The format is in web/src/data/link.ts. */
import type { Micros } from '../../../../src/core/index.ts'
import type { ScenarioEvent } from '../../../../src/workbench/scenario/index.ts'
import { damaged, packText, unpackText } from '../../../src/data/link.ts'
import type { OwnModule, ScenarioFile } from '../engine/messages.ts'

/** What a link carries. */
export type Shared = {
  readonly name: string
  readonly base: ScenarioFile
  readonly made: readonly ScenarioEvent[]
  readonly untilMs: number | null
  readonly module: OwnModule | null
  readonly at: Micros
  readonly lesson: string | null
}

/** The fragment, without `#`. */
export async function packLink(shared: Shared): Promise<string> {
  const { name, base, made, untilMs, module, at, lesson } = shared
  const content = {
    n: name,
    s: base,
    ...(made.length === 0 ? {} : { e: made }),
    ...(untilMs === null ? {} : { u: untilMs }),
    ...(module === null ? {} : { m: module }),
    ...(at === 0 ? {} : { t: at }),
    ...(lesson === null ? {} : { l: lesson }),
  }
  return packText(JSON.stringify(content))
}

export async function unpackLink(fragment: string): Promise<Shared> {
  return readShared(await unpackText(fragment))
}

function readShared(text: string): Shared {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw damaged('its content is not JSON')
  }
  const { n, s, e, u, m, t, l } = isObject(content) ? content : {}
  if (!isObject(s)) throw damaged('it holds no scenario')
  const made = Array.isArray(e) ? e : []
  if (!made.every((event) => isObject(event) && typeof event['atMs'] === 'number')) {
    throw damaged('an event has no instant')
  }
  return {
    name: typeof n === 'string' ? n : 'shared run',
    base: s as ScenarioFile,
    made: made as readonly ScenarioEvent[],
    untilMs: typeof u === 'number' ? u : null,
    module: isModule(m) ? m : null,
    at: typeof t === 'number' && t >= 0 ? t : 0,
    lesson: typeof l === 'string' ? l : null,
  }
}

function isModule(value: unknown): value is OwnModule {
  if (!isObject(value) || typeof value['name'] !== 'string' || typeof value['text'] !== 'string') return false
  const { parts = [] } = value
  return Array.isArray(parts) && parts.every(isModule)
}

export function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
