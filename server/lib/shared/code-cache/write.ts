// Writes V8's code cache of the programs, `node write.mjs` beside them: runs each on a simulated host, so that the cache has what a start uses.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cacheOf, compile, evaluate } from './cached-program.ts';
import { reasonOf } from '../reason.ts';

const self = fileURLToPath(import.meta.url);
const folder = fileURLToPath(new URL('.', import.meta.url));

/** Ends a build that hangs, in milliseconds. */
const longestMs = 120_000;

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

/** The one function that a file exports; the command line reads its words from the process. */
type Run = (args: readonly string[]) => Promise<number>;

/** One run of a program, whose functions go into its cache when it ends. */
async function runOne(name: string, args: readonly string[]): Promise<void> {
  // A cache is valid for the flags that V8 has when it is written, and a start has none.
  (createRequire(import.meta.url)('node:v8') as { setFlagsFromString: unknown }).setFlagsFromString = () => {};
  const file = join(folder, `${name}.cjs`);
  const cache = cacheOf(file);
  const script = compile(file, existsSync(cache) ? readFileSync(cache) : undefined);
  process.on('exit', () => {
    writeFileSync(`${cache}.${process.pid}`, script.createCachedData());
    renameSync(`${cache}.${process.pid}`, cache);
  });
  const entry = join(folder, '../bin', `${name}.js`);
  process.argv = [process.execPath, entry, ...args];
  const exported: readonly unknown[] = Object.values(evaluate(script, pathToFileURL(entry).href));
  const run = exported.find((value): value is Run => typeof value === 'function');
  process.exitCode = await run?.(args);
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

function start(args: readonly string[], home: string): Child {
  const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: home };
  return spawn(process.execPath, [self, ...args], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: longestMs,
    killSignal: 'SIGKILL',
  });
}

async function ended(child: Child): Promise<void> {
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
  if (code !== 0)
    throw new Error(`${child.spawnargs.slice(2).join(' ')} ended with ${String(code)}: ${errors.join('')}`);
}

async function runAll(home: string): Promise<void> {
  const state = join(home, 'state');
  const files = join(home, 'first.yaml');
  writeFileSync(files, manifests);
  const daemon = start(['gantryd', '--state-dir', state, '--runtime', 'sim'], home);
  const end = ended(daemon);
  try {
    await Promise.race([
      end,
      new Promise((resolve) => createInterface({ input: daemon.stdout }).once('line', resolve)),
    ]);
    for (const words of [['apply', '--auto-approve', files], ['plan', files], ['list']]) {
      const child = start(['gantry', ...words, '--host', `unix://${state}/unix.socket`], home);
      child.stdout.resume();
      await ended(child);
    }
  } finally {
    daemon.kill('SIGTERM');
  }
  await end;
}

async function main(): Promise<void> {
  const [name, ...args] = process.argv.slice(2);
  if (name !== undefined) return runOne(name, args);
  const home = mkdtempSync(join(tmpdir(), 'gantry-code-cache-'));
  try {
    await runAll(home);
  } catch (cause) {
    process.stderr.write(`The programs have no code cache, so they start slower: ${reasonOf(cause)}\n`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

await main();
