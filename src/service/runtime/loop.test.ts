import { describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import {
  type Effect,
  fail,
  type Input,
  type NodeId,
  type Output,
  output,
  type Plain,
  type Protocol,
  persist,
  send,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import { Writer } from './bytes.ts'
import { hostClock } from './clock.ts'
import { Loop } from './loop.ts'
import { memoryStorage } from './storage.ts'

/** Carries out the effects of a command, and outputs every other input. */
const obedient: Protocol = {
  start: (stable) => ({ state: 0, effects: [output({ type: 'began', stable })] }),
  step(state, input) {
    if (input.type === 'command') {
      return {
        state: (state as number) + 1,
        effects: input.command['effects'] as unknown as readonly Effect[],
      }
    }
    return { state, effects: [output({ type: 'got', input })] }
  },
  view: (state) => ({
    role: 'follower',
    leader: null,
    token: state as number,
    until: null,
    members: null,
    detail: null,
  }),
  shift: (state) => state,
}

function running(bootTime: (() => number) | null = null, save: ((data: Plain) => void) | null = null) {
  const outputs: Output[] = []
  const sends: Plain[] = []
  const storageErrors: string[] = []
  const failures: string[] = []
  const storage = memoryStorage()
  const clock = hostClock(bootTime)
  const loop = new Loop(obedient, clock, save === null ? storage : { ...storage, save }, {
    send: (to, body) => sends.push([to, body]),
    output: (event) => outputs.push(event),
    storageFailed: (error) => storageErrors.push(error.message),
    failed: (error) => failures.push(error.message),
  })
  loop.start()
  const tell = (...effects: readonly Effect[]): void => loop.command({ do: 'act', effects })
  const got = (): readonly Input[] =>
    outputs.filter(({ type }) => type === 'got').map((event) => event['input'] as unknown as Input)
  return { loop, tell, got, sends, outputs, storageErrors, failures, now: () => clock.now() }
}

describe('timers', () => {
  it('fire in the order of their deadlines, never before their time, and not when stopped or moved', async () => {
    const { loop, tell, got, now } = running()
    const began = now()
    const fired: number[] = []
    tell(
      setTimer('second', began + 12_000),
      setTimer('first', began + 6_000),
      setTimer('never', began + 3_000),
      setTimer('moved', began + 4_000),
    )
    tell(stopTimer('never'), setTimer('moved', began + 20_000))
    await until(() => {
      while (got().length > fired.length) fired.push(now() - began)
      return got().length === 3
    })
    expect(got()).toEqual(['first', 'second', 'moved'].map((name) => ({ type: 'timer', name })))
    expect(fired[0]).toBeGreaterThanOrEqual(6_000)
    expect(fired[2]).toBeGreaterThanOrEqual(20_000)
    loop.stop()
  })

  it('that are postponed fire at their last deadline, and only this one counts as late', async () => {
    const late: number[] = []
    const outputs: Output[] = []
    const clock = hostClock(null)
    const loop = new Loop(obedient, clock, memoryStorage(), {
      send: () => {},
      output: (event) => outputs.push(event),
      late: (by, now) => late.push(now - by),
      storageFailed: () => {},
      failed: () => {},
    })
    loop.start()
    const began = clock.now()
    const set = (after: number): void => loop.command({ do: 'act', effects: [setTimer('t', began + after)] })
    set(4_000)
    set(40_000)
    await until(() => outputs.some(({ type }) => type === 'got'))
    expect(clock.now() - began).toBeGreaterThanOrEqual(40_000)
    expect(late).toEqual([began + 40_000])
    // An earlier deadline than the alarm counts, too.
    set(10_000_000)
    set(60_000)
    await until(() => outputs.filter(({ type }) => type === 'got').length === 2)
    expect(late).toEqual([began + 40_000, began + 60_000])
    loop.stop()
  })

  it('that are due fire after the step that set them, not within', async () => {
    const { loop, tell, got, now } = running()
    tell(setTimer('now', now() - 5), output({ type: 'got', input: 'the step' }))
    expect(got()).toEqual(['the step'])
    await until(() => got().length === 2)
    loop.stop()
  })

  it('are forgotten when the loop stops', async () => {
    const { loop, tell, got, now } = running()
    tell(setTimer('soon', now() + 1_000))
    loop.stop()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(got()).toEqual([])
  })
})

describe('a sleep of the host', () => {
  it('comes before any other input, once', () => {
    let slept = 0
    const { loop, got } = running(() => Number(process.hrtime.bigint() / 1000n) + slept)
    loop.message('b', { kind: 'x' })
    slept = 5_000_000
    loop.message('b', { kind: 'y' })
    loop.message('b', { kind: 'z' })
    const types = got().map((input) => (input.type === 'message' ? input.body.kind : input.type))
    expect(types).toEqual(['x', 'suspended', 'y', 'z'])
    loop.stop()
  })

  it('is reported when the view is read', () => {
    let slept = 0
    const { loop, got } = running(() => Number(process.hrtime.bigint() / 1000n) + slept)
    slept = 60_000
    loop.view()
    expect(got().map(({ type }) => type)).toEqual(['suspended'])
    loop.stop()
  })

  it('waits while the effects of a step are carried out, even if one of them reads the view', () => {
    let slept = 0
    const log: unknown[] = []
    const clock = hostClock(() => Number(process.hrtime.bigint() / 1000n) + slept)
    const loop = new Loop(obedient, clock, memoryStorage(), {
      send: (to) => log.push(`to ${to}`),
      output(event) {
        if (event.type === 'got') log.push((event['input'] as { type: string }).type)
        if (event.type !== 'elected') return
        slept = 60_000
        log.push(loop.view().token)
      },
      storageFailed: () => {},
      failed: () => {},
    })
    loop.start()
    loop.command({ do: 'act', effects: [output({ type: 'elected' }), send('b', { kind: 'x' })] })
    loop.message('b', { kind: 'y' })
    expect(log).toEqual([1, 'to b', 'suspended', 'message'])
    loop.stop()
  })
})

describe('a message that makes the protocol fail', () => {
  const fragile: Protocol = {
    ...obedient,
    step(state, input) {
      if (input.type !== 'command') throw new Error(`${input.type} is not handled`)
      return obedient.step(state, input, 0)
    },
  }
  const started = (messageDropped?: (from: NodeId, error: Error) => void) => {
    const failures: string[] = []
    const loop = new Loop(fragile, hostClock(null), memoryStorage(), {
      send: () => {},
      output: () => {},
      storageFailed: () => {},
      failed: (error) => failures.push(error.message),
      ...(messageDropped === undefined ? {} : { messageDropped }),
    })
    loop.start()
    return { loop, failures }
  }

  it('counts as lost, and its sender is named', () => {
    const dropped: string[] = []
    const { loop, failures } = started((from, error) => dropped.push(`${from}: ${error.message}`))
    loop.message('b', { kind: 'x' })
    loop.command({ do: 'act', effects: [] })
    expect(dropped).toEqual(['b: message is not handled'])
    expect(failures).toEqual([])
    expect(loop.view().token).toBe(1)
    loop.stop()
  })

  it('stops a loop without a hook for it', () => {
    const { loop, failures } = started()
    loop.message('b', { kind: 'x' })
    expect(failures).toEqual(['message is not handled'])
  })
})

describe('a failed assertion', () => {
  it('while an effect is carried out stops the loop', () => {
    const failures: string[] = []
    const loop = new Loop(obedient, hostClock(null), memoryStorage(), {
      send: (_to, { number }) => new Writer().begin().u53(number as number),
      output: () => {},
      storageFailed: () => {},
      failed: (error) => failures.push(error.message),
    })
    loop.start()
    const effects: readonly Effect[] = [2 ** 53 - 1, -1, 2].map((number) => send('b', { kind: 'x', number }))
    loop.command({ do: 'act', effects: effects })
    expect(failures).toEqual(['-1 cannot be sent as a number below 2^53'])
  })

  it.each([
    ['message', (loop: Loop) => loop.message('b', { kind: 'x' })],
    ['command', (loop: Loop) => loop.command({ do: 'act' })],
  ] as const)('on a %s stops the loop, and the step is recorded first', (type, give) => {
    const log: unknown[] = []
    const asserting: Protocol = {
      ...obedient,
      step: () => fail('the epoch decreased from 4 to 3'),
    }
    const loop = new Loop(asserting, hostClock(null), memoryStorage(), {
      send: () => {},
      output: () => {},
      storageFailed: () => {},
      messageDropped: () => log.push('dropped'),
      failed: (error) => log.push(error.name),
      record: ({ input, outcome }, before) => log.push([input?.type ?? 'start', outcome, before]),
    })
    loop.start()
    give(loop)
    give(loop)
    expect(log).toEqual([
      ['start', 'done', null],
      [type, { error: 'the epoch decreased from 4 to 3', isFatal: true }, 0],
      'AssertionFailedError',
    ])
  })
})

describe('stable data that cannot be stored', () => {
  const full = (): never => {
    throw new Error('no space left')
  }

  it('rolls the step back, reports it, and the loop continues', () => {
    const { loop, tell, sends, storageErrors, failures } = running(null, full)
    tell(persist({ vote: 1 }), send('b', { kind: 'vote' }))
    expect([sends, storageErrors, failures]).toEqual([[], ['no space left'], []])
    expect(loop.view().token).toBe(0)
    tell(send('b', { kind: 'still here' }))
    expect(sends).toEqual([['b', { kind: 'still here' }]])
    loop.stop()
  })

  it('lets a timer whose step was rolled back fire again', async () => {
    let isFull = true
    let tries = 0
    const outputs: Output[] = []
    const voter: Protocol = {
      ...obedient,
      start: (_stable, now) => ({ state: 0, effects: [setTimer('vote', now)] }),
      step: () => ({ state: 1, effects: [persist({ vote: 1 }), output({ type: 'voted' })] }),
    }
    const save = (): void => {
      tries += 1
      if (isFull) full()
    }
    const loop = new Loop(
      voter,
      hostClock(null),
      { ...memoryStorage(), save },
      {
        send: () => {},
        output: (event) => outputs.push(event),
        storageFailed: () => {},
        failed: () => {},
      },
    )
    loop.start()
    await until(() => tries >= 2)
    expect(outputs).toEqual([])
    isFull = false
    await until(() => outputs.length > 0)
    expect(outputs).toEqual([{ type: 'voted' }])
    loop.stop()
  })

  it('prevents the messages of the step, even those before the write', () => {
    const { tell, sends, storageErrors, failures } = running(null, full)
    tell(send('b', { kind: 'early' }), persist({ vote: 1 }), send('b', { kind: 'vote' }))
    expect([sends, storageErrors, failures]).toEqual([[], ['no space left'], []])
  })

  it('excludes only the groups that must write', () => {
    const sends: string[] = []
    const parts: Protocol = {
      ...obedient,
      step(state, input) {
        if (input.type === 'command') return { state: 'without', effects: [] }
        const vote = state === 'without' ? [] : [persist({ vote: 1 })]
        return { state, effects: [...vote, send('b', { kind: 'rest' })] }
      },
    }
    const loop = new Loop(
      parts,
      hostClock(null),
      { ...memoryStorage(), save: full },
      {
        send: (_to, { kind }) => sends.push(kind),
        output: () => {},
        storageFailed: ({ message }) => sends.push(message),
        failed: () => {},
        excludeGroups: (_input, stable) => ({ do: 'leave out', stable }),
      },
    )
    loop.start()
    loop.message('b', { kind: 'x' })
    loop.message('b', { kind: 'y' })
    expect(sends).toEqual(['no space left', 'rest', 'rest'])
    loop.stop()
  })
})
