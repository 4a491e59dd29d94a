export { type JoinVirtually, NodeCrashedError, Testkit, type TestkitOptions, testkit } from './testkit.ts'
