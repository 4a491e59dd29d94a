import { expect, it } from 'vitest'
import { causeOf } from './causes.ts'
import { LOSS_REASONS } from './loss-reason.ts'

it('names the node and the cause in words that operators of an agent know', () => {
  for (const reason of LOSS_REASONS) {
    const { text } = causeOf('a', { reason, detail: null })
    expect(text).toMatch(/^a [a-z]/)
    // The functions of the library mean nothing to them.
    expect(text).not.toMatch(/`/)
  }
  expect(causeOf('a', { reason: 'stopped', detail: null })).toEqual({
    kind: 'stepped-down',
    node: 'a',
    text: 'a was asked to stop leading',
  })
})

it('says the detail, with the id instead of "this node"', () => {
  const late = causeOf('a', { reason: 'expired', detail: 'this node was late by 93 ms', kind: 'late' })
  expect(late).toEqual({ kind: 'late', node: 'a', text: 'a was late by 93 ms' })
  expect(causeOf('a', { reason: 'another view', detail: null }).text).toBe(
    'a led a view that a newer view replaced',
  )
  expect(causeOf('a', { reason: 'failed', detail: 'EIO' }).text).toBe('a failed: EIO')
})
