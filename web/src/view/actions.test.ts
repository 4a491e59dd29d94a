import { describe, expect, it } from 'vitest'
import {
  type Action,
  describeAction,
  describeHandOver,
  isAdmin,
  localRequest,
  moveNode,
  proposeSides,
} from './actions.ts'

const PLACE = { agent: 'http://127.0.0.1:7480', group: 'my group', leader: 'n1' }

describe('an action', () => {
  it.each<[Action, string, string]>([
    [{ what: 'kill', id: 'n1' }, 'Kill n1', 'kill n1'],
    [{ what: 'resume', id: 'n2' }, 'Resume n2', 'resume n2'],
    [{ what: 'partition', sides: [['n1'], ['n2', 'n3']] }, 'Partition n1 from n2, n3', 'partition n1 n2,n3'],
    [{ what: 'cut', hearer: 'n1', sender: 'n2' }, 'Cut the link from n2 to n1', 'cut n2>n1'],
    [{ what: 'heal' }, 'Heal all links', 'heal'],
    [{ what: 'yield', to: null }, 'Step n1 down', 'step-down'],
    [
      { what: 'step-down', to: null },
      'Step n1 down',
      "conclave step-down --agent http://127.0.0.1:7480 --group 'my group' --admin-token-file FILE",
    ],
    [
      { what: 'step-down', to: 'n2' },
      'Hand leadership over to n2',
      "conclave step-down --agent http://127.0.0.1:7480 --group 'my group' --admin-token-file FILE --to n2",
    ],
    [
      { what: 'black-box' },
      'Download the black box',
      'curl -H "Authorization: Bearer $TOKEN" \'http://127.0.0.1:7480/v1/trace?group=my%20group\' > black-box.ndjson',
    ],
  ])('%j has a title and a command', (action, title, command) => {
    expect(describeAction(action, PLACE)).toMatchObject({ title, command })
  })

  it('says when it ends a term', () => {
    expect(describeAction({ what: 'kill', id: 'n1' }, PLACE).effect).toContain('another node takes over')
    expect(describeAction({ what: 'kill', id: 'n2' }, PLACE).effect).not.toContain('takes over')
  })

  it.each<[Exclude<Action, { what: 'step-down' | 'black-box' }>, string, object]>([
    [{ what: 'pause', id: 'n1' }, '/v1/local/pause', { id: 'n1' }],
    [{ what: 'partition', sides: [['n1'], ['n2']] }, '/v1/local/partition', { sides: [['n1'], ['n2']] }],
    [{ what: 'cut', hearer: 'n1', sender: 'n2' }, '/v1/local/partition', { cut: [['n1', 'n2']] }],
    [{ what: 'heal' }, '/v1/local/heal', {}],
    [{ what: 'yield', to: null }, '/v1/local/step-down', {}],
    [{ what: 'yield', to: 'n2' }, '/v1/local/step-down', { to: 'n2' }],
  ])('%j is a request to the supervisor', (action, path, body) => {
    expect(localRequest(action)).toEqual({ path, body })
    expect(isAdmin(action)).toBe(false)
  })
})

describe('a hand-over', () => {
  it.each([
    [
      { successor: { id: 'n2', token: 4, afterMs: 9 }, problem: null },
      ', which leads with token 4 after 9 ms',
    ],
    [{ successor: null, problem: null }, ''],
    [null, ''],
  ])('says when the chosen node leads: %j', (response, leads) => {
    expect(describeHandOver('n1', 'n2', response)).toBe(`n1 handed leadership over to n2${leads}`)
  })

  it('says what went wrong', () => {
    const response = { successor: { id: 'n3', token: 4, afterMs: 9 }, problem: 'n3 leads next, not n2' }
    expect(describeHandOver('n1', 'n2', response)).toBe('n1 stepped down, but n3 leads next, not n2')
  })
})

describe('the sides of a partition', () => {
  it('separate the leader first', () => {
    expect(proposeSides(['n1', 'n2', 'n3'], 'n2')).toEqual([['n2'], ['n1', 'n3']])
    expect(proposeSides(['n1', 'n2', 'n3'], null)).toEqual([['n1'], ['n2', 'n3']])
  })

  it('exchange nodes in both directions', () => {
    const moved = moveNode([['n2'], ['n1', 'n3']], 'n1')
    expect(moved).toEqual([['n1', 'n2'], ['n3']])
    expect(moveNode(moved, 'n2')).toEqual([['n1'], ['n2', 'n3']])
  })
})
