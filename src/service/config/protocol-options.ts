/** The options of a protocol, from what a node is configured with. */
import { type Definition, explain, type NodeId, type PlainObject, present } from '../../core/index.ts'
import {
  type Asked,
  defectProblems,
  hostingOf,
  LEASE_FIELDS,
  type Problem,
  protocolNamed,
} from '../../protocols/index.ts'
import { fieldProblems, InvalidOptionsError, rejectOptions } from './problems.ts'

/** Checked, with defaults. Throws InvalidOptionsError with all problems. */
export function protocolOptions(protocol: string, ids: readonly NodeId[], asked: Asked): PlainObject {
  const defects = defectProblems(asked.options ?? {})
  if (defects.length > 0) return reject(defects)
  const hosting = present(hostingOf(protocol), protocol)
  const misplaced = hosting.hasAdaptiveTiming === true ? [] : misplacedFields(protocol, asked)
  if (misplaced.length > 0) return reject(misplaced)
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
  return reject(fieldProblems(result.error, known, { prefix: ['options'], otherwise }).map(atOwnField))
}

/** Users set these options by fields of their own. */
function atOwnField({ field, message }: Problem): Problem {
  const own = LEASE_FIELDS.find((each) => field === `options.${each}`)
  return { field: own ?? field, message }
}

/** Fields of leases that tune themselves, given for a protocol without them. */
function misplacedFields(protocol: string, asked: Asked): readonly Problem[] {
  return LEASE_FIELDS.filter((field) => asked[field] !== undefined).map((field) => ({
    field,
    message: `does not apply to the protocol ${protocol}, whose timing is fixed; remove it`,
  }))
}

function reject(problems: Parameters<typeof rejectOptions>[0]): never {
  rejectOptions(problems)
  throw new InvalidOptionsError('options', 'cannot work')
}
