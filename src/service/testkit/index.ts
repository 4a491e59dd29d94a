export { type TestkitJoinOptions, NodeCrashedError, Testkit, type TestkitOptions, testkit } from './testkit.ts'
