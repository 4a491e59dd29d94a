/** What a dropped file is: found by its content, because names of downloads say little. */
import type { OwnModule, Problem, ScenarioFile } from '../engine/messages.ts'
import { isObject } from './share.ts'
import type { DroppedFile } from './types.ts'

export const MOST_FILE_BYTES = 50_000_000

export type TextFile = { readonly name: string; readonly text: string }

/** What to open. */
export type Opening =
  | {
      readonly type: 'scenario'
      readonly name: string
      readonly scenario: ScenarioFile
      readonly module: OwnModule | null
    }
  | { readonly type: 'module'; readonly module: OwnModule }
  | { readonly type: 'recording'; readonly files: readonly TextFile[] }
  | { readonly type: 'not JSON'; readonly text: string }
  | { readonly type: 'refused'; readonly problems: readonly Problem[] }

type Kind = 'scenario' | 'trace' | 'module'

export async function readFiles(files: readonly DroppedFile[]): Promise<Opening> {
  if (files.length === 0) return refuse(null, 'There is no file in this drop.')
  const tooLarge = files.filter(({ size }) => size > MOST_FILE_BYTES)
  if (tooLarge.length > 0) {
    return { type: 'refused', problems: tooLarge.map((file) => problem(file.name, sizeText(file.size))) }
  }
  const read = await Promise.all(
    files.map(async (file) => ({ name: file.name, text: await file.text().catch(() => null) })),
  )
  const unread = read.filter(({ text }) => text === null)
  if (unread.length === 0) return openingOf(read as readonly TextFile[])
  const why = 'cannot be read. Copy it to another folder and drop it again.'
  return { type: 'refused', problems: unread.map(({ name }) => problem(name, why)) }
}

function sizeText(size: number): string {
  const megabytes = (size / 1_000_000).toFixed(size > 100_000_000 ? 0 : 1)
  return `is ${megabytes} MB; this page opens files of at most 50 MB. Use conclave replay for a longer trace.`
}

/** What these texts are, together. */
export function openingOf(files: readonly TextFile[]): Opening {
  const kinds = files.map((file) => [file, kindOf(file)] as const)
  const unknown = kinds.filter(([, kind]) => kind === null)
  if (unknown.length > 0) {
    return { type: 'refused', problems: unknown.map(([file]) => problem(file.name, whyUnknown(file))) }
  }
  const of = (wanted: Kind): readonly TextFile[] =>
    kinds.filter(([, kind]) => kind === wanted).map(([file]) => file)
  const [traces, scenarios, modules] = [of('trace'), of('scenario'), of('module')]
  if (traces.length > 0) {
    return scenarios.length + modules.length === 0
      ? { type: 'recording', files: traces }
      : refuse(null, 'Drop recordings alone: a scenario or a module cannot be opened together with a trace.')
  }
  const module = modules.length === 0 ? null : joinModules(modules)
  if (scenarios.length > 1 || module === undefined) {
    return refuse(
      null,
      'Drop one scenario, one module with the files that it imports, or both. Only traces can be several files.',
    )
  }
  const [scenario] = scenarios
  if (scenario !== undefined) return scenarioOpening(scenario, module)
  return module === null ? refuse(null, 'There is no file in this drop.') : { type: 'module', module }
}

/** The one module that no other imports, with the others as its parts; undefined if there is no such one. */
function joinModules(modules: readonly TextFile[]): OwnModule | undefined {
  const isImported = (file: TextFile): boolean =>
    modules.some(
      ({ text }) =>
        text !== file.text && (text.includes(`'./${file.name}'`) || text.includes(`"./${file.name}"`)),
    )
  const [main, ...others] = modules.filter((file) => !isImported(file))
  if (main === undefined || others.length > 0) return undefined
  const parts = modules.filter((file) => file !== main)
  return parts.length === 0 ? main : { ...main, parts }
}

function scenarioOpening(file: TextFile, module: OwnModule | null): Opening {
  const parsed = parseScenarioText(file.text)
  return parsed.type === 'scenario' ? { ...parsed, name: file.name, module } : parsed
}

/** A scenario file's text. The engine checks the content, and finds the place where the text is not JSON. */
export function parseScenarioText(
  text: string,
):
  | { readonly type: 'scenario'; readonly scenario: ScenarioFile }
  | Extract<Opening, { readonly type: 'not JSON' | 'refused' }> {
  try {
    const content: unknown = JSON.parse(text)
    if (isObject(content)) return { type: 'scenario', scenario: content as ScenarioFile }
    return refuse('line 1', 'A scenario is a JSON object: { "protocol": …, "nodes": … }.')
  } catch {
    return { type: 'not JSON', text }
  }
}

const MODULE_NAME = /\.(?:m?js|m?ts)$/
/** How much of a file is looked at to find out what it is. */
const OPENING_CHARACTERS = 4096

function kindOf({ name, text }: TextFile): Kind | null {
  const opening = text.slice(0, OPENING_CHARACTERS).trimStart()
  if (opening.startsWith('{')) return isTrace(text) ? 'trace' : isScenario(name, opening) ? 'scenario' : null
  if (MODULE_NAME.test(name) || /^\s*(?:import|export)\b/m.test(opening)) return 'module'
  return null
}

/** A trace begins with a header on a line of its own. */
function isTrace(text: string): boolean {
  const start = text.search(/\S/)
  const end = text.indexOf('\n', start)
  try {
    const header: unknown = JSON.parse(text.slice(start, end < 0 ? undefined : end))
    return isObject(header) && 'trace' in header
  } catch {
    return false
  }
}

function isScenario(name: string, opening: string): boolean {
  return name.endsWith('.json') || (opening.includes('"protocol"') && opening.includes('"nodes"'))
}

function whyUnknown({ text }: TextFile): string {
  if (text.trim() === '') return 'is empty.'
  return 'is none of the files that this page opens: a scenario (.json), a trace or black box (.ndjson), or a protocol module (.mjs).'
}

function problem(place: string | null, message: string): Problem {
  return { place, message }
}

function refuse(place: string | null, message: string): Extract<Opening, { readonly type: 'refused' }> {
  return { type: 'refused', problems: [problem(place, message)] }
}
