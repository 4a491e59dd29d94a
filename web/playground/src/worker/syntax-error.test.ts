import { describe, expect, it } from 'vitest'
import { scriptOf } from './syntax-error.ts'

const MODULE = `import {
  define,
  send as give,
} from 'conclave/core'
import * as zod from 'zod'
import plain from "zod"
import 'x'
export const a = define
  export async function b() {}
export {
  a as c,
}
export default a
`

describe('scriptOf', () => {
  const script = scriptOf(MODULE)

  it('keeps every line where it is', () => {
    expect(script.split('\n')).toHaveLength(MODULE.split('\n').length)
  })

  it('turns imports into declarations and drops exports', () => {
    expect(script).toBe(`const {
  define,
  send : give,
} = 0
const zod = 0
const plain = 0

const a = define
  async function b() {}



void a
`)
  })
})
