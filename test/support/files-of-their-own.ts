// The test files that need a process of their own; the others share processes, and the modules that these have loaded.
import { longFiles } from './long-files.ts';

export const filesOfTheirOwn: readonly string[] = [
  // They gain nothing, and start first.
  ...longFiles,
  // They drive programs and hosts.
  'test/e2e/**/*.test.ts',
  'test/server/hostile/{container-files,deleted-certificate,host-path-links,recorded-output}.test.ts',
];
