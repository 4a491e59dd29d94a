/** The modules that a protocol of the user's own can import. */
import { z } from 'zod'
import * as core from '../../../../src/core/public.ts'
import * as specs from '../../../../src/workbench/specs/public.ts'

export type Provided = { readonly [name: string]: unknown }

/** The parts of zod with which options and commands are described. All of zod would double the size of the page. */
const schemas = {
  any: z.any,
  array: z.array,
  boolean: z.boolean,
  discriminatedUnion: z.discriminatedUnion,
  enum: z.enum,
  exactOptional: z.exactOptional,
  int: z.int,
  json: z.json,
  literal: z.literal,
  looseObject: z.looseObject,
  never: z.never,
  null: z.null,
  nullable: z.nullable,
  number: z.number,
  object: z.object,
  optional: z.optional,
  record: z.record,
  strictObject: z.strictObject,
  string: z.string,
  tuple: z.tuple,
  union: z.union,
  unknown: z.unknown,
}

export const providedModules: { readonly [name: string]: () => Promise<Provided> } = {
  'conclave/core': () => Promise.resolve(core),
  'conclave/specs': () => Promise.resolve(specs),
  'conclave/links': () => import('../../../../src/links/public.ts'),
  zod: () => Promise.resolve({ ...schemas, z: schemas }),
}
