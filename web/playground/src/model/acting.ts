/** Changing the run: events made by hand, and the branches that they make. */
import {
  act,
  actingInstant,
  extendBranch,
  isSchedule,
  undone,
  whyFixed,
  withBranch,
  withoutBranch,
} from './branches.ts'
import { differencesOf } from './compare.ts'
import { type Context, problemsOf } from './context.ts'
import { interventionText } from './interventions.ts'
import { cursorAt } from './playback.ts'
import { type Runner, sameInstant } from './runner.ts'
import { timeText } from './text.ts'
import type { Actions, Branch } from './types.ts'

type Acting = Pick<
  Actions,
  'act' | 'undo' | 'setSeed' | 'extend' | 'switchBranch' | 'renameBranch' | 'removeBranch' | 'compare'
>

export function createActing({ get, set }: Context, runner: Runner): Acting {
  function shownBranch(): Branch | null {
    const { branches, branch } = get()
    return branches.find(({ id }) => id === branch) ?? null
  }

  /** The shown branch, if something can be done to it; else says why not. */
  function changeable(): Branch | null {
    const branch = shownBranch()
    if (branch === null) return null
    const why = whyFixed(branch)
    if (why === null) return branch
    set({ problems: [{ place: null, message: why }] })
    return null
  }

  /**
   * Actions take effect one after another, in the order in which they were given. What was given before something else was
   * opened is meant for the run before it, and is left out.
   */
  let queue: Promise<void> = Promise.resolve()
  function inOrder(action: () => Promise<void>): Promise<void> {
    const opened = runner.timesOpened()
    const done = queue.then(() => (runner.timesOpened() === opened ? action() : undefined))
    queue = done.catch(() => {})
    return done
  }

  return {
    act: (event) =>
      inOrder(async () => {
        const branch = changeable()
        const { picture, cursor } = get()
        if (branch === null || picture === null) return
        const at = actingInstant(picture, cursor)
        const done = act(branch, event, { at, seenTo: runner.seenTo(branch.id), freshId: runner.freshId() })
        await runner.show(done.branch, {
          cursor: (next) => cursorAt(next, at),
          notice: `${done.isFork ? 'New branch: ' : ''}${interventionText(event)} at ${timeText(at)}.`,
        })
      }),
    undo: () =>
      inOrder(async () => {
        const branch = changeable()
        if (branch === null) return
        const before = undone(branch)
        const gone = branch.made.at(-1)
        if (before === null || gone === undefined) {
          return set({ notice: 'There is nothing to take back: no event of this branch was made by hand.' })
        }
        await runner.show(before, {
          cursor: sameInstant(get().cursor),
          notice: `Taken back: ${interventionText(gone)} at ${timeText(gone.atMs * 1000)}.`,
        })
      }),
    setSeed: (seed) =>
      inOrder(async () => {
        const branch = changeable()
        if (branch === null || isSchedule(branch.base)) return
        await runner.show(
          {
            ...branch,
            id: runner.freshId(),
            name: `seed ${seed}`,
            parent: branch.id,
            forkedAt: 0,
            base: { ...branch.base, seed },
            picture: null,
          },
          { cursor: sameInstant(get().cursor), notice: `New branch with seed ${seed}.` },
        )
      }),
    extend: (byMs) =>
      inOrder(async () => {
        const branch = changeable()
        if (branch === null) return
        const { cursor } = get()
        await runner.show(extendBranch(branch, byMs), { cursor: () => cursor })
      }),
    switchBranch: (id) =>
      inOrder(async () => {
        const branch = get().branches.find((each) => each.id === id)
        if (branch === undefined || id === get().branch) return
        const { cursor } = get()
        await runner.show(branch, {
          cursor: sameInstant(cursor),
          patch: { isPlaying: false },
          notice: `Branch: ${branch.name}.`,
        })
      }),
    renameBranch(id, name) {
      const branch = get().branches.find((each) => each.id === id)
      const trimmed = name.trim()
      if (branch !== undefined && trimmed !== '') {
        set({ branches: withBranch(get().branches, { ...branch, name: trimmed }) })
      }
    },
    removeBranch(id) {
      const { branches, branch, comparison } = get()
      if (id === branch) {
        return set({ notice: 'The branch that is shown cannot be removed. Switch to another one first.' })
      }
      set({
        branches: withoutBranch(branches, id),
        ...(comparison?.other === id ? { comparison: null } : {}),
      })
    },
    compare: (other) =>
      inOrder(async () => {
        const mine = shownBranch()
        const theirs = get().branches.find(({ id }) => id === other)
        const { picture } = get()
        if (other === null || theirs === undefined || mine === null || picture === null) {
          return set({ comparison: null })
        }
        const pending = { branch: mine.id, other: theirs.id }
        set({ comparison: { ...pending, picture: null, sentences: [], differsAt: null } })
        try {
          const found = theirs.picture ?? (await runner.pictureOf(theirs))
          if (get().comparison?.other !== other) return
          const names = { mine: mine.name, other: theirs.name }
          set({ comparison: { ...pending, picture: found, ...differencesOf(picture, found, names) } })
        } catch (error) {
          set({ comparison: null, problems: problemsOf(error) })
        }
      }),
  }
}
