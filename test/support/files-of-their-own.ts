// The test files that need a process of their own; the others share processes, and the modules that these have loaded.
import { longFiles } from './long-files.ts';

export const filesOfTheirOwn: readonly string[] = [
  // They gain nothing, and start first.
  ...longFiles,
  // They drive Terraform, clients of LXD, whole examples and clusters.
  'test/e2e/{cluster,examples,lxc-verbs,lxd-clients,terraform}/**/*.test.ts',
];
