import { type Member, members, placed } from './memory/assertions.ts'
import type { Spec } from './spec.ts'

export const assertion1: Spec<readonly Member[]> = {
  name: 'assertion-1',
  title:
    'at every moment, all processes in Reorganization or Normal have one coordinator, and those in Normal one task',
  source: 'Garcia-Molina 1982, Assertion 1',
  when: 'always',
  fold: members,
  judge(memory, seen) {
    if (seen.type !== 'view') return 'not concerned'
    const all = placed(memory)
    const [first] = all
    if (first === undefined || all.length < 2) return 'not concerned'
    const other = all.find(({ coordinator }) => coordinator !== first.coordinator)
    if (other !== undefined) {
      return {
        violated: `${first.node} has coordinator ${first.coordinator}, ${other.node} has ${other.coordinator}`,
      }
    }
    const [working, ...rest] = all.filter(({ status }) => status === 'Normal')
    const odd = rest.find(({ d }) => d !== working?.d)
    if (working === undefined || odd === undefined) return 'held'
    return { violated: `${working.node} works on the task of ${working.d}, ${odd.node} on that of ${odd.d}` }
  },
}
