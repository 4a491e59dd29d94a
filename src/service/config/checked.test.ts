import { expect, it } from 'vitest'
import { z } from 'zod'
import { checked, flagOf, variableOf } from './checked.ts'
import type { Problem } from './problems.ts'

it.each([
  ['id', '--id', 'CONCLAVE_ID'],
  ['keyFile', '--key-file', 'CONCLAVE_KEY_FILE'],
  ['adminTokenFile', '--admin-token-file', 'CONCLAVE_ADMIN_TOKEN_FILE'],
  // A flag that is repeated is in the singular.
  ['peers', '--peer', 'CONCLAVE_PEER'],
  ['options', '--option', 'CONCLAVE_OPTION'],
  ['httpNames', '--http-name', 'CONCLAVE_HTTP_NAME'],
])('%s is given by %s or %s', (field, flag, variable) => {
  expect([flagOf(field), variableOf(field)]).toEqual([flag, variable])
})

const SCHEMA = z.strictObject({ id: z.string(), peers: z.array(z.string()), priority: z.int().default(3) })

it('returns the parsed value, and adds no problem', () => {
  const problems: Problem[] = []
  const values = { id: 'a', peers: ['b'] }
  expect(checked(SCHEMA, { values, from: {} }, problems, [])).toEqual({ ...values, priority: 3 })
  expect(problems).toEqual([])
})

it('says where each wrong value was given, and how to give a missing one', () => {
  const problems: Problem[] = [{ field: 'http', place: null, message: 'is wrong' }]
  const values = { peers: ['b', 7], priority: 'high', observr: true }
  const from = { peers: '--peer', priority: 'default', observr: 'c.yaml:3:1' }
  expect(checked(SCHEMA, { values, from }, problems, ['groups', 2])).toBeNull()
  expect(problems).toEqual([
    { field: 'http', place: null, message: 'is wrong' },
    {
      field: 'groups[2].id',
      place: null,
      message: 'is missing: give --id, set CONCLAVE_ID, or write it in the file (--config)',
    },
    { field: 'groups[2].peers[1]', place: '--peer', message: '7 is not a string' },
    { field: 'groups[2].priority', place: null, message: '"high" is not a finite number' },
    { field: 'groups[2].observr', place: 'c.yaml:3:1', message: 'unknown field; did you mean observer?' },
  ])
})
