/** The present run for elsewhere: as a link, a scenario, a test, a command, a trace. */
import type { Context } from './context.ts'
import { commandText, scenarioText, testText } from './copy.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Runner } from './runner.ts'
import { packLink } from './share.ts'
import type { Actions, Branch, State } from './types.ts'

export function createSharing({ engine, host, get }: Context, runner: Runner) {
  async function fragmentOf(state: State, at: number): Promise<string | null> {
    const branch = state.branches.find(({ id }) => id === state.branch)
    if (branch === undefined || branch.source === 'trace') return null
    const { name, base, made, untilMs, module } = branch
    return await packLink({ name, base, made, untilMs, module, at, lesson: state.lesson?.id ?? null })
  }

  const copy: Actions['copy'] = async (kind) => {
    const state = get()
    if (state.source === 'trace' && kind !== 'trace') {
      throw new Error('A recorded run has no scenario. Copy it as a trace, or share the files themselves.')
    }
    const { scenario, module, picture } = state
    switch (kind) {
      case 'link':
        return `${host.address()}#${await fragmentOf(state, state.cursor.at)}`
      case 'scenario':
        return scenarioText(scenario)
      case 'command':
        return commandText(scenario, module)
      case 'test':
        return testText(scenario, picture?.verdicts ?? [], module)
      case 'trace':
        return await runner.question(() => engine.ask({ type: 'trace' }))
      default:
        return kind satisfies never
    }
  }

  let shown: Branch | null = null
  /** Keeps the address bar at the present run, so that reloading the page keeps it too. */
  async function followRun(state: State): Promise<void> {
    const branch = state.branches.find(({ id }) => id === state.branch) ?? null
    if (branch === null || branch.picture === null) return
    if (shown?.base === branch.base && shown.made === branch.made && shown.untilMs === branch.untilMs) return
    shown = branch
    const fragment = plainFragment(state, branch) ?? (await fragmentOf(state, 0))
    if (shown === branch) host.setFragment(fragment)
  }

  return { copy, followRun }
}

/** A lesson or a protocol as it comes with the page needs no data. */
function plainFragment({ lesson }: State, { base, made, untilMs, module }: Branch): string | null {
  if (made.length > 0 || untilMs !== null || module !== null) return null
  if (lesson !== null) return `lesson=${encodeURIComponent(lesson.id)}`
  const card = PROTOCOLS.find(({ scenario }) => scenario === base)
  return card === undefined ? null : `protocol=${encodeURIComponent(card.name)}`
}
