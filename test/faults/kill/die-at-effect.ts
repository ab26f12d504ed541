// Loaded into a daemon under test (`node --import`). On SIGUSR2 it reads an order from the file GANTRY_TEST_ORDER and then ends the
// process with SIGKILL right before one of its next effects on the host, or some milliseconds after that effect has begun. Effects are
// writes to file systems (control groups among them), started programs, and changes sent to the store's thread.
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread, Worker } from 'node:worker_threads';

interface Order {
  /** Number of the effect, from 1. Absent: the process survives, and only the count of effects since the last order is written. */
  readonly effect?: number;
  readonly afterMs?: number;
}

type Functions = Record<string, (...args: never[]) => unknown>;

const orderFile = process.env['GANTRY_TEST_ORDER'];
const { readFileSync, rmSync, writeFileSync, renameSync } = fs;

let order: Order = {};
let seen = 0;

function arm(file: string): void {
  const next = JSON.parse(readFileSync(file, 'utf8')) as Order;
  writeFileSync(`${file}.seen.new`, JSON.stringify({ seen }));
  renameSync(`${file}.seen.new`, `${file}.seen`);
  rmSync(file, { force: true });
  seen = 0;
  order = next;
}

function die(what: string): void {
  writeFileSync(`${orderFile}.died`, what);
  process.kill(process.pid, 'SIGKILL');
  // Nothing else happens before the signal arrives.
  for (;;);
}

function effect(what: string): void {
  seen += 1;
  if (seen !== order.effect) return;
  const { afterMs } = order;
  if (afterMs === undefined) die(`before ${what}`);
  else setTimeout(() => die(`${afterMs} ms after ${what}`), afterMs);
}

function watch(owner: object, name: string, describe: (...args: readonly unknown[]) => string): void {
  const functions = owner as Functions;
  const real = functions[name];
  if (real === undefined) throw new Error(`there is no function ${name}`);
  functions[name] = function (this: unknown, ...args: never[]): unknown {
    effect(describe(...args));
    return Reflect.apply(real, this, args);
  };
}

const changes = 'appendFile chmod chown copyFile mkdir rename rm rmdir symlink truncate unlink writeFile'.split(' ');

function watchAll(): void {
  for (const name of changes) {
    watch(fs.promises, name, (path) => `${name} ${String(path)}`);
    watch(fs, `${name}Sync`, (path) => `${name}Sync ${String(path)}`);
  }
  watch(
    childProcess,
    'spawn',
    (file, args) => `spawn ${[file, ...((args ?? []) as string[])].join(' ').slice(0, 200)}`,
  );
  watch(Worker.prototype, 'postMessage', () => 'a message to the store');
  watchControlGroups();
  syncBuiltinESMExports();
}

/** They are written through descriptors. So are logs, which do not count as effects. */
function watchControlGroups(): void {
  const paths = new Map<number, string>();
  const functions = fs as unknown as Functions;
  const { openSync, writeSync } = fs;
  functions['openSync'] = (...args: never[]): number => {
    const fd = Reflect.apply(openSync, fs, args) as number;
    paths.set(fd, String(args[0]));
    return fd;
  };
  functions['writeSync'] = (...args: never[]): unknown => {
    const path = paths.get(Number(args[0])) ?? '';
    if (path.startsWith('/sys/fs/cgroup/')) effect(`write ${path}`);
    return Reflect.apply(writeSync, fs, args);
  };
}

if (isMainThread && orderFile !== undefined) {
  watchAll();
  process.on('SIGUSR2', () => arm(orderFile));
}
