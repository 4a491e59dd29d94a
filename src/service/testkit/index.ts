export {
  NodeCrashedError,
  Testkit,
  type TestkitJoinOptions,
  type TestkitOptions,
  testkit,
} from './testkit.ts'
