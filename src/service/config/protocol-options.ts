/** The options of a protocol, from what a node is configured with. */
import { type Definition, explain, type NodeId, type PlainObject, present } from '../../core/index.ts'
import { type Asked, defectProblems, hostingOf, protocolNamed } from '../../protocols/index.ts'
import { fieldProblems, InvalidOptionsError, rejectOptions } from './problems.ts'

/** Checked, with defaults. Throws InvalidOptionsError with all problems. */
export function protocolOptions(protocol: string, ids: readonly NodeId[], asked: Asked): PlainObject {
  const defects = defectProblems(asked.options ?? {})
  if (defects.length > 0) return reject(defects)
  const hosting = present(hostingOf(protocol), protocol)
  const chosen = hosting.optionsFor(asked, ids)
  if ('problems' in chosen) return reject(chosen.problems)
  const options = checkedOptions(present(protocolNamed(protocol), protocol), ids, chosen.options)
  const problems = hosting.problemsWith(options, asked)
  return problems.length > 0 ? reject(problems) : options
}

function checkedOptions(definition: Definition, ids: readonly NodeId[], given: object): PlainObject {
  const schema = definition.options(ids)
  const result = schema.safeParse(given, { error: explain })
  if (result.success) return result.data
  const known = Object.keys((schema as { readonly shape?: object }).shape ?? {})
  const otherwise = `run "conclave protocols" for the options of ${definition.name}`
  return reject(fieldProblems(result.error, known, { prefix: ['options'], otherwise }))
}

function reject(problems: Parameters<typeof rejectOptions>[0]): never {
  rejectOptions(problems)
  throw new InvalidOptionsError('options', 'cannot work')
}
