// Bundlers read this file instead of the library: they alone follow the condition "module" in package.json. The election
// runs in a thread of its own, whose script is a file that no bundle contains. So the build stops here and says what to
// do, instead of the program when it starts. See docs/reference/library.md, "Bundlers".
// oxlint-disable-next-line import/no-unassigned-import -- no such module: its name is what the bundler prints
import 'conclave must stay out of the bundle, for its election runs in a thread with a script of its own: use --external:conclave'

// The values of the main entry, so that a bundler reports the line above and no missing name. A test compares the lists.
export {
  AlreadyLeadingError,
  CommandRefusedError,
  DamagedStorageError,
  InvalidArgumentError,
  InvalidKeyError,
  InvalidOptionsError,
  join,
  LeadershipLostError,
  loadProtocol,
  NodeClosedError,
  StorageFailedError,
  StorageInUseError,
  StorageLockError,
  StoreFailedError,
  UnusableFolderError,
  WorkerLostError,
} from '../dist/service/node/index.js'
