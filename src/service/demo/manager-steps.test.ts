/** A fault manager that is killed in each of its steps, in real processes. Conditions decide, never durations. */
import { describe, expect, it } from 'vitest'
import { openDemo } from '../../../test/support/demo.ts'
import { sized } from '../../../test/support/sizes.ts'
import type { FractalDemo } from './demo.ts'
import type { DemoNode } from './node.ts'

const TIMEOUT_MS = 300_000

function managerOf(demo: FractalDemo): DemoNode {
  return demo.nodes.find(({ id }) => id === demo.observed.view?.leader) as DemoNode
}

/** Every node runs a tile that has stored a checkpoint of its own. */
function isBusy(demo: FractalDemo): boolean {
  const running = demo.state().tiles.filter(({ status, epoch }) => status === 'running' && (epoch ?? 0) >= 1)
  return demo.nodes.every(({ id }) => running.some(({ node }) => node === id))
}

function isOut(demo: FractalDemo, { id }: DemoNode): boolean {
  return demo.observed.view?.members.includes(id) === false
}

/** Only the leader of a view begins these steps. Members begin the others, too. */
const LEADERS_STEPS = [2, 3, 4, 5]

/** Kills a node. Unless the manager dies, too, the node returns when its tiles run elsewhere. */
async function loseNode(demo: FractalDemo, node: DemoNode, isManagerDead: () => boolean): Promise<void> {
  await demo.kill(node.id)
  const hasTiles = (): boolean =>
    demo.state().tiles.some(({ node: owner, status }) => owner === node.id && status === 'running')
  await demo.until(() => isManagerDead() || (isOut(demo, node) && !hasTiles()))
  if (isManagerDead()) return
  demo.revive(node.id)
  await demo.until(() => isManagerDead() || !isOut(demo, node))
}

/** Lets the fault manager die in this step, also if another node takes over. Resolves to the node that died. */
async function killManagerAt(demo: FractalDemo, step: number): Promise<DemoNode> {
  const up = demo.nodes.filter(({ isUp }) => isUp)
  let last: DemoNode | null = null
  const arm = (): void => {
    const manager = managerOf(demo)
    if (manager === last) return
    last = manager
    for (const node of up) node.killAtStep = node === manager || LEADERS_STEPS.includes(step) ? step : null
  }
  arm()
  const disarm = demo.onChange(arm)
  try {
    // The loss of a node makes the manager recover. If the manager itself gets none of its jobs, another node is lost.
    while (step > 1 && up.every(({ isUp }) => isUp)) {
      const other = up.find((node) => node !== managerOf(demo)) as DemoNode
      up.splice(up.indexOf(other), 1)
      other.killAtStep = null
      // oxlint-disable-next-line no-await-in-loop -- one loss after the other
      await loseNode(demo, other, () => up.some(({ isUp }) => !isUp))
      up.push(other)
    }
    await demo.until(() => up.some(({ isUp }) => !isUp))
    return up.find(({ isUp }) => !isUp) as DemoNode
  } finally {
    disarm()
    for (const node of up) node.killAtStep = null
  }
}

/** The fault manager dies, returns, and dies again when the group readmits it. */
async function killReturningManager(demo: FractalDemo): Promise<DemoNode> {
  const manager = managerOf(demo)
  await demo.kill(manager.id)
  await demo.until(() => isOut(demo, manager))
  manager.killAtStep = 8
  demo.revive(manager.id)
  await demo.until(() => !manager.isUp)
  manager.killAtStep = null
  return manager
}

/** `cluster/kill.test.ts` kills a node in each step. Here the picture is checked as well, which takes longer. */
const STEPS = sized([6], [1, 2, 3, 4, 5, 6, 7, 8])

describe('a fault manager', () => {
  const cases: readonly (readonly [number, string])[] = [
    [1, 'while it stores a checkpoint'],
    [2, 'before it has fenced the members'],
    [3, 'when all members are fenced'],
    [4, 'while it looks for the newest checkpoints'],
    [5, 'while it assigns the jobs of a lost node'],
    [6, 'while it restarts a job'],
    [7, 'while it encodes for the new members'],
    [8, 'when it returns with a new life'],
  ]
  it.each(cases.filter(([step]) => STEPS.includes(step)))(
    'that is killed in step %d, %s, loses nothing',
    async (step) => {
      const { demo, end } = await openDemo({ nodes: 5, tiles: 10, pauseMs: 400 })
      try {
        const running = demo.run(AbortSignal.timeout(TIMEOUT_MS))
        await Promise.race([demo.until(() => isBusy(demo)), running])
        const killing = step === 8 ? killReturningManager(demo) : killManagerAt(demo, step)
        const killed = await Promise.race([killing, running.then(() => null)])
        if (killed === null) throw new Error(`the picture was complete before step ${step}`)
        await demo.until(() => isOut(demo, killed))
        for (const node of demo.nodes) if (!node.isUp) demo.revive(node.id)
        const { identical, resumed } = await running
        expect(identical).toBe(true)
        expect(resumed).toBeGreaterThan(0)
      } finally {
        await end()
      }
    },
    TIMEOUT_MS,
  )
})
