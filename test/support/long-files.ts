// The slowest test files, the slowest first; those that lock the same network are not adjacent. Files that are missing here take less
// than 25 seconds.

export const longFiles: readonly string[] = [
  'test/e2e/kill/converge.test.ts',
  'test/e2e/documents/odd-values.test.ts',
  'test/server/hostile/event-loop-bodies.test.ts',
  'test/e2e/lxc-verbs/lxc-verbs.test.ts',
  'test/e2e/kill/steps.test.ts',
  'test/server/operations/sagas.test.ts',
  'test/client/link-watch.test.ts',
  'test/e2e/terraform/host.test.ts',
  'test/e2e/documents/effects.test.ts',
  'test/e2e/examples/quickstart.test.ts',
  'test/e2e/documents/projects.test.ts',
  'test/e2e/examples/teams.test.ts',
  'test/e2e/terraform/projects.test.ts',
  'test/e2e/process/command-line.test.ts',
  'test/server/cluster/store-faults.test.ts',
  'test/e2e/process/closed-output-verbs.test.ts',
  'test/server/services/storage/daemon-killed.test.ts',
  'test/e2e/process/plugin-end.test.ts',
  'test/e2e/examples/demo.test.ts',
  'test/e2e/kill/acknowledged.test.ts',
  'test/e2e/terraform/workflow.test.ts',
  'test/server/hostile/bearer-tokens.test.ts',
  'test/server/durability/store-command.test.ts',
  'test/server/durability/etcd-daemon.test.ts',
];
