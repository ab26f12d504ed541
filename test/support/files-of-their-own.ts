// The test files that need a process of their own; the others share processes, and the modules that these have loaded.
import { longFiles } from './long-files.ts';

export const filesOfTheirOwn: readonly string[] = [
  // They gain nothing, and start first.
  ...longFiles,
  // They drive programs, hosts and whole daemons.
  'test/e2e/**/*.test.ts',
  'test/provider/**/*.test.ts',
  'test/server/{drivers,durability,hostile}/**/*.test.ts',
  'test/server/services/{migration,storage}/**/*.test.ts',
];
