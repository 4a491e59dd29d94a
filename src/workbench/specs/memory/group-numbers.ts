import type { Spec } from '../spec.ts'

/** The numbers of all groups that were formed, and the last one. */
type Made = { readonly numbers: readonly string[]; readonly last: string | null }

export const groupNumbers: Spec<Made> = {
  name: 'group-numbers',
  title: 'no group number is made twice',
  source: 'Edinburgh lecture 11 ("an identifier which is unique"); what Assertion 3 rests on',
  when: 'always',
  fold: {
    begin: () => ({ numbers: [], last: null }),
    next(memory, seen) {
      if (seen.type !== 'output' || seen.event.type !== 'group') return memory
      const last = `${JSON.stringify(seen.event['coordinator'])}.${JSON.stringify(seen.event['counter'])}`
      return { numbers: [...memory.numbers, last], last }
    },
  },
  judge({ numbers, last }, seen) {
    if (seen.type !== 'output' || seen.event.type !== 'group') return 'not concerned'
    const times = numbers.filter((number) => number === last).length
    return times < 2 ? 'held' : { violated: `group ${last} was made twice` }
  },
}
