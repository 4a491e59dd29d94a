/** Questions about the run: the state of the selected node, and why something happened. */
import type { NodeId } from '../../../../src/core/index.ts'
import { type Context, problemsOf } from './context.ts'
import type { Runner } from './runner.ts'
import type { Actions, Picture, State } from './types.ts'

export type Inquiry = Pick<Actions, 'select' | 'askWhy' | 'closeWhy'> & {
  /** Asks for the state of the selected node at the cursor, unless it is known. */
  followCursor(): void
}

export function createInquiry({ engine, get, set }: Context, runner: Runner): Inquiry {
  let isAsking = false
  let newestWhy = 0

  /** One question at a time; after its answer, the newest question. */
  async function ask(): Promise<void> {
    if (isAsking) return
    isAsking = true
    try {
      for (let wanted = wantedOf(get()); wanted !== null; wanted = wantedOf(get())) {
        const { node, moment, picture } = wanted
        // oxlint-disable-next-line no-await-in-loop -- one question at a time
        const inspection = await runner.question(async () =>
          get().picture === picture ? await engine.ask({ type: 'inspect', moment, node }) : null,
        )
        if (inspection === null || get().picture !== picture) continue
        // The answer counts as the answer to this moment, even if the node's last step was earlier.
        set({ inspection: { ...inspection, node, moment } })
      }
    } catch (error) {
      set({ problems: problemsOf(error), selection: null })
    } finally {
      isAsking = false
    }
  }

  function followCursor(): void {
    if (wantedOf(get()) !== null) void ask()
  }

  return {
    followCursor,
    select(selection) {
      const node = inspectedNode({ ...get(), selection })
      const isSame = node !== null && get().inspection?.node === node
      set({ selection, ...(isSame ? {} : { inspection: null }) })
      followCursor()
    },
    async askWhy(moment) {
      newestWhy += 1
      const mine = newestWhy
      const { picture } = get()
      try {
        const chain = await runner.question(async () =>
          get().picture === picture ? await engine.ask({ type: 'why', moment }) : null,
        )
        if (chain !== null && mine === newestWhy && get().picture === picture) set({ why: { moment, chain } })
      } catch (error) {
        if (mine === newestWhy) set({ problems: problemsOf(error) })
      }
    },
    closeWhy() {
      newestWhy += 1
      set({ why: null })
    },
  }
}

/** The node whose state the inspector shows. */
export function inspectedNode({ selection, picture }: State): NodeId | null {
  if (selection === null || picture === null) return null
  switch (selection.type) {
    case 'node':
      return selection.node
    case 'moment':
      return picture.moments[selection.moment]?.node ?? null
    case 'message':
      return picture.flights.find(({ message }) => message === selection.message)?.to ?? null
    case 'link':
    case 'spec':
      return null
    default:
      return selection satisfies never
  }
}

/** What must be asked; null if nothing, or if it is known. */
function wantedOf(
  state: State,
): { readonly node: NodeId; readonly moment: number; readonly picture: Picture } | null {
  const node = inspectedNode(state)
  const { cursor, inspection, picture, isRunning } = state
  if (node === null || picture === null || isRunning || cursor.moment < 0) return null
  if (inspection?.node === node && inspection.moment === cursor.moment) return null
  return { node, moment: cursor.moment, picture }
}
