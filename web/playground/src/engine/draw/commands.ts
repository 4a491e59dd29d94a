/** The commands of a protocol as forms, read from the schema of its definition. */
import type { Definition, NodeId } from '../../../../../src/core/index.ts'
import type { CommandForm } from '../picture.ts'

type FieldType = CommandForm['fields'][number]['type']

/** What commands do, in a few words. */
const TITLES: { readonly [name: string]: string } = {
  addVoter: 'Add a voter',
  campaign: 'Be willing to lead, or not',
  cancel: 'Cancel a job',
  check: 'Look for other groups',
  contend: 'Write itself into the oracle',
  corrupt: 'Damage its stored data',
  detect: 'Report a node as failed',
  election: 'Begin an election',
  fenced: 'Fence a token of a node',
  remove: 'Remove a node',
  removeVoter: 'Remove a voter',
  setLeaseBounds: 'Set the bounds of its leases',
  setLoad: 'Set its load',
  setPriority: 'Set its priority',
  slots: 'Set the number of its job slots',
  start: 'Begin an election',
  stepDown: 'Step down',
  submit: 'Submit a job',
  tick: 'Tick',
  view: 'Form a group of these nodes',
  wake: 'Become a candidate',
}
const HANDOVER = 'Step down in favour of a node'

/** The parts of a schema that are read here. */
type Part = {
  readonly def: {
    readonly type: string
    readonly options?: readonly Part[]
    readonly shape?: { readonly [field: string]: Part }
    readonly values?: readonly unknown[]
    readonly innerType?: Part
    readonly element?: Part
  }
}

export function commandForms(definition: Definition, nodes: readonly NodeId[]): readonly CommandForm[] {
  const schema = definition.commands(nodes) as unknown as Part
  const variants = schema.def.type === 'union' ? (schema.def.options ?? []) : [schema]
  return variants.flatMap((variant) => formsOf(variant.def.shape ?? {}))
}

/** A command that needs a value that no field of a form can hold has no form: real nodes give it to themselves. */
function formsOf(shape: { readonly [field: string]: Part }): readonly CommandForm[] {
  const name = shape['do']?.def.values?.[0]
  if (typeof name !== 'string') return []
  const given = Object.entries(shape).filter(([field]) => field !== 'do')
  const required = given.filter(([, part]) => !isOptional(part))
  const fields = required.map(([field, part]) => ({ name: field, type: typeOf(part) }))
  if (!fields.every(isKnown)) return []
  const form = { name, title: TITLES[name] ?? name, fields }
  const heir = given.find(([, part]) => isOptional(part) && typeOf(part) === 'node')
  if (heir === undefined) return [form]
  return [form, { name, title: HANDOVER, fields: [...fields, { name: heir[0], type: 'node' }] }]
}

function isKnown(field: {
  readonly name: string
  readonly type: FieldType | null
}): field is CommandForm['fields'][number] {
  return field.type !== null
}

function isOptional({ def }: Part): boolean {
  return ['optional', 'default', 'prefault'].includes(def.type)
}

function typeOf({ def }: Part): FieldType | null {
  if (def.innerType !== undefined) return typeOf(def.innerType)
  switch (def.type) {
    case 'number':
    case 'int':
      return 'number'
    case 'string':
      return 'text'
    case 'boolean':
      return 'boolean'
    case 'union':
      // nodeAmong: a number or a string, checked against the nodes.
      return def.options?.map((option) => option.def.type).join(' ') === 'number string' ? 'node' : null
    case 'array':
      return def.element !== undefined && typeOf(def.element) === 'node' ? 'nodes' : null
    default:
      return null
  }
}
