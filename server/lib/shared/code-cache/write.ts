// Writes V8's code caches of the programs beside them (`node write.mjs`), with what a start uses. The same Node.js writes the same bytes.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cacheOf, compile, evaluate } from './cached-program.ts';

/** The one function that a file exports; the command line reads its words from the process. */
type Run = (args: readonly string[]) => Promise<number>;

const self = fileURLToPath(import.meta.url);
const folder = fileURLToPath(new URL('.', import.meta.url));

const manifests = `
kind: storage_pool
name: first
driver: dir
---
kind: network
name: first
config:
  ipv4.address: 10.98.76.1/24
---
kind: profile
name: first
devices:
  root: { type: disk, path: /, pool: first }
  eth0: { type: nic, network: first, name: eth0 }
`;

/** Command lines that need no host and take the same way each time. `file`: the manifests; nothing can be below it. */
const runs = (file: string): readonly (readonly [program: string, ...args: readonly string[]])[] => [
  ['gantryd', 'openapi'],
  ['gantryd', '--state-dir', join(file, 'state'), '--runtime', 'sim'],
  ['gantry', 'validate', file],
];

/** Runs a program in this process; the functions that it used go into its cache, beside those of earlier runs, when it ends. */
async function record(name: string, args: readonly string[]): Promise<void> {
  // A cache is valid for the flags that V8 has when it is written, and a start has none: the program sets none here.
  const v8 = createRequire(import.meta.url)('node:v8') as { setFlagsFromString: (flag: string) => void };
  const setFlag = v8.setFlagsFromString;
  v8.setFlagsFromString = () => {};
  setFlag('--no-flush-bytecode');
  const file = join(folder, `${name}.cjs`);
  const cache = cacheOf(file);
  const script = compile(file, existsSync(cache) ? readFileSync(cache) : undefined);
  process.on('exit', () => {
    setFlag('--flush-bytecode');
    writeFileSync(cache, script.createCachedData());
  });
  const entry = join(folder, '../bin', `${name}.js`);
  process.argv = [process.execPath, entry, ...args];
  const exported: readonly unknown[] = Object.values(evaluate(script, pathToFileURL(entry).href));
  const run = exported.find((value): value is Run => typeof value === 'function');
  process.exitCode = await run?.(args);
}

function recordAll(): void {
  const home = mkdtempSync(join(tmpdir(), 'gantry-code-cache-'));
  try {
    const file = join(home, 'first.yaml');
    writeFileSync(file, manifests);
    for (const name of ['gantry', 'gantryd']) rmSync(cacheOf(join(folder, `${name}.cjs`)), { force: true });
    for (const [name, ...args] of runs(file)) {
      // V8 orders names in a cache by a random number.
      const argv = ['--random-seed=1', self, name, ...args];
      const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: home };
      const { stderr, signal } = spawnSync(process.execPath, argv, {
        cwd: home,
        env,
        encoding: 'utf8',
        timeout: 60_000,
      });
      if (signal !== null || !existsSync(cacheOf(join(folder, `${name}.cjs`))))
        throw new Error(`${name} ${args.join(' ')} left no code cache: ${signal ?? stderr}`);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const [name, ...args] = process.argv.slice(2);
if (name === undefined) recordAll();
else await record(name, args);
