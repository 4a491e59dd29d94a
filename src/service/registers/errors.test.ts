import { describe, expect, it } from 'vitest'
import * as errors from './errors.ts'

const { describeError, isConnectionError, kindOfProblem } = errors

describe('describeError', () => {
  const refused = new Error('connect ECONNREFUSED')

  it.each<[string, unknown, string]>([
    ['an error', refused, 'connect ECONNREFUSED'],
    ['a text', 'broken', 'broken'],
    ['nothing', undefined, 'undefined'],
    ['a failed fetch', new TypeError('fetch failed', { cause: refused }), 'connect ECONNREFUSED'],
    ['a failed fetch without a cause', new TypeError('fetch failed'), 'TypeError'],
    ['several addresses', new AggregateError([refused, new Error('other')]), 'connect ECONNREFUSED'],
    ['several addresses with a message', new AggregateError([refused], 'all failed'), 'all failed'],
    [
      'a failed fetch of several addresses',
      new TypeError('fetch failed', { cause: new AggregateError([refused]) }),
      'connect ECONNREFUSED',
    ],
    ['an empty message', new RangeError(''), 'RangeError'],
    // The outer message says more than its cause.
    ['a message with a cause', new Error('no answer', { cause: refused }), 'no answer'],
  ])('says why in one line: %s', (_what, error, text) => {
    expect(describeError(error)).toBe(text)
  })
})

it.each<[string, Error, boolean]>([
  ['unreachable', new errors.StoreUnreachableError('h', 'x'), true],
  ['denied', new errors.StoreAccessDeniedError('x'), true],
  ['unsuitable', new errors.UnsuitableStoreError('x'), true],
  ['in use', new errors.IdInUseError('a', 'h', 'it answered'), false],
  ['other', new Error('syntax error'), false],
])('a new connection may help against an error: %s', (_what, error, mayHelp) => {
  expect(isConnectionError(error)).toBe(mayHelp)
})

it.each<[Error, string, string, RegExp]>([
  [
    new errors.StoreUnreachableError('redis://h', new Error('reset')),
    'StoreUnreachableError',
    'ERR_CONCLAVE_STORE_UNREACHABLE',
    /^cannot reach the store at redis:\/\/h: reset; check that it is running/,
  ],
  [
    new errors.InvalidStoreError('store.url', 'must be a URL'),
    'InvalidStoreError',
    'ERR_CONCLAVE_INVALID_STORE',
    /^store\.url: must be a URL$/,
  ],
  [
    new errors.MissingClientError('nats', ['a', 'b'], null),
    'MissingClientError',
    'ERR_CONCLAVE_MISSING_CLIENT',
    /npm install a b$/,
  ],
  [
    new errors.IdInUseError('a', 'h', 'it answered'),
    'IdInUseError',
    'ERR_CONCLAVE_ID_IN_USE',
    /^the id a is in use by another live process \(it answered, in h\): use another id/,
  ],
  [new errors.CellLockedError('x'), 'CellLockedError', 'ERR_CONCLAVE_CELL_LOCKED', /^x$/],
  [
    new errors.SupersededError('a', 'h'),
    'SupersededError',
    'ERR_CONCLAVE_SUPERSEDED',
    /^the block of a in h no longer belongs to this process.* This process must stop$/,
  ],
  [
    new errors.NodeRemovedError('a', 'h'),
    'NodeRemovedError',
    'ERR_CONCLAVE_NODE_REMOVED',
    /^a was removed from this group permanently \(in h\): use a new id$/,
  ],
  [
    new errors.CorruptBlockError('a', 'h', 'torn'),
    'CorruptBlockError',
    'ERR_CONCLAVE_CORRUPT_BLOCK',
    /^the block of a in h is corrupt \(torn\)\. .*the promises of a are lost/,
  ],
  [
    new errors.UnsupportedFormatError('a', 'h', '2', '1'),
    'UnsupportedFormatError',
    'ERR_CONCLAVE_UNSUPPORTED_FORMAT',
    /has the format 2 but this version writes 1: run the same version/,
  ],
  [
    new errors.StoreRolledBackError('a', 'h', '3 after 4'),
    'StoreRolledBackError',
    'ERR_CONCLAVE_STORE_ROLLED_BACK',
    /^h is not a register: the block of a went back \(3 after 4\)/,
  ],
])('%s has a name, a stable code and advice', (error, name, code, message) => {
  expect(error).toMatchObject({ name, code, message: expect.stringMatching(message) })
})

describe('kindOfProblem', () => {
  it.each([
    ["EROFS: open '/s/g/.6c2ca302-c0be-4a94'", "EROFS: open '/s/g/.d0e717ac-ef1e-41eb'", true],
    ['no answer within 1300.3 ms', 'no answer within 999 ms', true],
    ['connect ECONNREFUSED 127.0.0.1:4000', 'connect ETIMEDOUT 127.0.0.1:4000', false],
    ['cannot reach the store', 'WRONGPASS invalid password', false],
  ])('%s, and %s: the same is %s', (one, other, isSame) => {
    expect(kindOfProblem(one) === kindOfProblem(other)).toBe(isSame)
  })
})
