import { expect, it } from 'vitest'
import { StoreUnreachableError } from '../../registers/index.ts'
import { StorageInUseError } from '../../runtime/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import { deserializeError, serializeError } from './error-transfer.ts'

const transferred = (error: unknown): Error => deserializeError(structuredClone(serializeError(error)))

it('keeps class, code, fields, message and stack', () => {
  const before = new InvalidOptionsError('listen', 'is taken', [{ field: 'peers[0]', message: 'is wrong' }])
  const after = transferred(before)
  expect(after).toBeInstanceOf(InvalidOptionsError)
  expect(after).toMatchObject({
    name: 'InvalidOptionsError',
    code: 'ERR_CONCLAVE_INVALID_OPTIONS',
    field: 'listen',
    problem: 'is taken',
    problems: before.problems,
    message: 'listen: is taken\npeers[0]: is wrong',
    stack: before.stack,
  })
  expect(transferred(new StorageInUseError('/d'))).toBeInstanceOf(StorageInUseError)
})

it('keeps the chain of causes', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  const after = transferred(new StoreUnreachableError('redis://h', refused))
  expect(after).toBeInstanceOf(StoreUnreachableError)
  expect(after.cause).toMatchObject({
    message: 'connect ECONNREFUSED',
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
})

it('cuts a chain that does not end, and accepts values that are not errors', () => {
  const circular = new Error('again')
  circular.cause = circular
  let length = 0
  for (let each: unknown = transferred(circular); each instanceof Error; each = each.cause) length += 1
  expect(length).toBe(9)
  expect(transferred('text').message).toBe('text')
})

it('leaves out fields that cannot be cloned', () => {
  const error = Object.assign(new Error('x'), { retry: () => {}, code: 'E' })
  expect(transferred(error)).toMatchObject({ message: 'x', code: 'E' })
  expect(transferred(error)).not.toHaveProperty('retry')
})
