/**
 * The order of the test files: the longest first, so that none of them runs alone at the end. Then the others by project:
 * a worker that goes on with a file of the same project keeps its process and its modules. `npm test` runs the files of
 * real processes beside the others (scripts/test.mjs). In one run, real files wait, pure ones compute and come last, so
 * that no core is idle at the end.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take more than about 20 s on two cores, the longest first. The order of the others does not matter. */
const LONGEST = [
  // Real processes.
  'src/service/chaos/chaos.test.ts',
  'src/service/chaos/stores.test.ts',
  'test/browser/playground/manipulate.test.ts',
  'test/browser/playground/pictures.test.ts',
  'src/service/node/api/node.test.ts',
  'test/browser/page.test.ts',
  'src/service/agent/store-groups.test.ts',
  'src/service/recovery/cluster/kill.test.ts',
  'test/browser/agents.test.ts',
  'src/cli/job.test.ts',
  'src/service/runtime/hostile.test.ts',
  'test/deploy/docker.test.ts',
  'src/service/agent/processes.test.ts',
  'src/service/node/election/in-store.test.ts',
  'src/service/demo/manager-steps.test.ts',
  'src/service/agent/lifecycle.test.ts',
  'test/clients/clients.test.ts',
  'src/service/registers/etcd.test.ts',
  'test/quick-start.test.ts',
  'src/service/agent/omega.test.ts',
  'src/cli/up/up.test.ts',
  'src/cli/completion.test.ts',
  'src/service/node/election/in-worker.test.ts',
  // Virtual time and plain commands.
  'test/docs.test.ts',
  'src/cli/plan/plan.test.ts',
  'src/protocols/local-leader/adaptive.test.ts',
  'src/cli/plan/levels.test.ts',
  'src/workbench/sim/campaign.test.ts',
  'src/workbench/explore/explore.test.ts',
  'src/protocols/omega/schedules.test.ts',
  'src/protocols/omega-printed/printed.test.ts',
  'src/protocols/byzantine-node.test.ts',
  'src/protocols/epochs/epochs.test.ts',
  'src/protocols/host.test.ts',
  'src/protocols/local-leader/local-leader.test.ts',
]

const rankOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((file) => moduleId.endsWith(file))
  return place === -1 ? LONGEST.length : place
}

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long = files.filter((file) => rankOf(file) < LONGEST.length).sort((a, b) => rankOf(a) - rankOf(b))
    const short = files.filter((file) => rankOf(file) === LONGEST.length)
    const byProject = short.sort((a, b) => b.project.name.localeCompare(a.project.name))
    return [...long, ...byProject]
  }
}
