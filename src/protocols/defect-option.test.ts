import { describe, expect, it } from 'vitest'
import { defectProblems } from './defect-option.ts'
import { epochsHosting } from './epochs/hosting.ts'
import { epochsOptions } from './epochs/options.ts'
import { localLeaderHosting } from './local-leader/hosting.ts'
import { localLeaderOptions } from './local-leader/options.ts'

describe('the option misreading of a real node', () => {
  it('is refused with its name, for any defect', () => {
    expect(defectProblems({ misreading: 'no-echo' })).toEqual([
      {
        field: 'options.misreading',
        message: '"no-echo" is a deliberate defect for simulations and searches; remove it',
      },
    ])
    expect(defectProblems({ misreading: 7 })).toHaveLength(1)
  })

  it.each([{}, { misreading: 'none' }, { misreading: null }])(
    'is accepted if it chooses no defect: %j',
    (options) => {
      expect(defectProblems(options)).toEqual([])
    },
  )

  it('is refused by a hosting that receives it unchecked', () => {
    const nodes = ['a', 'b', 'c']
    const options = localLeaderOptions(nodes).parse({ misreading: 'quick-restart' })
    expect(() => localLeaderHosting.group({ self: 'a', nodes }, options)).toThrow(
      'options.misreading: "quick-restart" is a deliberate defect',
    )
    const inStore = epochsOptions().parse({ misreading: 'no-start' })
    expect(() => epochsHosting.create('a', inStore)).toThrow(
      'options.misreading: "no-start" is a deliberate defect',
    )
  })
})
