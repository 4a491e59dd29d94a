/** `conclave/specs`: specifications that judge runs, and the monitors that evaluate them. Unstable until 1.0. */
export { goalNamed, goals, specNamed, specs } from './catalogue.ts'
export { type GoalCount, type Monitor, monitor, type SpecVerdict, vacuous, Watch } from './monitor.ts'
export type { Fold, Goal, Judgement, RunFacts, Spec } from './spec.ts'
