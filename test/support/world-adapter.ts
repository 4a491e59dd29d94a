/** What the adapters of the conformance suite share. */
import type { Effect, Message, Output, Plain } from '../../src/core/index.ts'
import type { OpenWorld } from './world-puppet.ts'

/** Waits are counted in milliseconds of the world's clock, so that a broken world fails soon on any machine. */
const MAX_WAIT_MS = 500

export async function waitUntil(condition: () => boolean, tick: () => void | Promise<void>): Promise<void> {
  for (let waited = 0; !condition(); waited++) {
    if (waited >= MAX_WAIT_MS) throw new Error(`the condition does not hold after ${MAX_WAIT_MS} ms`)
    // oxlint-disable-next-line no-await-in-loop -- one millisecond after the other
    await tick()
  }
}

export const commandOf = (effects: readonly Effect[] | 'throw') =>
  effects === 'throw' ? { do: 'throw' } : { do: 'act', effects: effects as unknown as Plain }

export const textOf = (record: Message | Output): string => record['text'] as string

export const messageOf = (text: string): Message => ({ kind: 'note', text })

/** The methods of an instance as plain functions, so that they can be spread. */
export function methodsOf(world: OpenWorld): OpenWorld {
  return {
    act: (effects) => world.act(effects),
    receive: (text) => world.receive(text),
    sent: () => world.sent(),
    outputs: () => world.outputs(),
    until: (condition) => world.until(condition),
    crashAfter: (effects) => world.crashAfter(effects),
    restart: () => world.restart(),
    suspend: () => world.suspend(),
    setWritable: (isWritable) => world.setWritable(isWritable),
    failure: () => world.failure(),
    close: () => world.close(),
  }
}
