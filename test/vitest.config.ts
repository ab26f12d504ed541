// Test runner settings; which tests exist is decided by the folders beside this file.
import { defineConfig } from 'vitest/config';
import { leftOut } from './support/left-out.ts';
import { LongestFirst } from './support/longest-first.ts';
import './support/run-typescript.mjs';

const runTypescript = new URL('support/run-typescript.mjs', import.meta.url).href;

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/file-setup.ts'],
    // They only end what would never end: on a machine with fifteen times the work it can do, tests of seconds take a minute.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // MiB. Tests make much that is soon forgotten: with more room for it they take a tenth less of the processor.
    execArgv: ['--max-semi-space-size=64', '--min-semi-space-size=32', `--import=${runTypescript}`],
    // Node loads the modules: those that Vite rewrites need a tenth more of the processor. Mocks of modules need Vite; no test has any.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // On Node before 22.15 Vitest does not wait for its own notes of which module imports which when a worker ends.
    onUnhandledError: ({ message }) => !message.includes('Closing rpc while "ensureModuleGraphEntry" was pending'),
    // Two more than cores: for half of their time tests wait, for containers, clients that give up, servers that start.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // In CI one more try, reported as such: tests with real kernels, DHCP clients and load meet time limits of others.
    // What needed it gets an entry in test/FLAKES.md and a fix.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    // A failure shows what was found: the usual 40 letters say only how many there were.
    chaiConfig: { truncateThreshold: 400 },
    include: ['test/**/*.test.ts'],
    exclude: [...leftOut],
    // Most files take longer to load than to run: a process loads each module once, for all the files that it runs.
    isolate: false,
  },
});
