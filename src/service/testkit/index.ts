export { type JoinVirtually, NodeCrashed, Testkit, type TestkitOptions, testkit } from './testkit.ts'
