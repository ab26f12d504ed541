// A daemon as a separate process that reports how often its event loop was blocked during requests.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { bundleDaemon, read, settle, startChild, type ChildDaemon } from '../daemons/child-process.ts';
import { call, seed } from '../daemons/daemon.ts';

export interface HeldDaemon {
  readonly dir: string;
  readonly daemon: ChildDaemon;
  /** Its socket with the dialect of LXD. */
  readonly lxdSocket: string;
  /** Fails if the loop was blocked beyond the daemon's limit (scaled on a slow machine) in each of several tries. */
  expectFree(send: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

interface Figures {
  readonly limit_ms: number;
  readonly longest_ms: number;
  readonly over_limit: number;
}

/** Slow code is slow at each try; a pause of the host or the garbage collector is not. */
const tries = 5;

/** The duration of `fixedWork` on the reference machine of the daemon's limit. */
const usualWorkMs = 14;
const workText = JSON.stringify(
  Array.from({ length: 20_000 }, (_none, index) => ({ [`k${index}`]: [`${index}`, index] })),
);

function fixedWork(): number {
  const begin = performance.now();
  JSON.parse(workText);
  return performance.now() - begin;
}

/** How many times slower this machine currently is, at least 1. */
function slowness(): number {
  const shortest = Math.min(...Array.from({ length: 9 }, fixedWork));
  return Math.max(1, shortest / usualWorkMs);
}

const heldMs = (line: string): number => Number(/was blocked for (\d+) ms/.exec(line)?.[1] ?? Infinity);

/** A daemon with a pool, and a container `default`, on the simulated runtime. */
export async function openHeldDaemon(): Promise<HeldDaemon> {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-held-'));
  const bundle = bundleDaemon();
  const lxdSocket = join(dir, 'lxd/unix.socket');
  const daemon = await startChild(bundle, dir, 'sim', ['--lxd-socket', lxdSocket]);
  await seed({ call: (...args) => call(daemon, ...args) });
  await settle(daemon, 'POST', '/1.0/containers', { name: 'default', source: { type: 'none' } });

  /** After the tick that includes earlier work. */
  async function figures(): Promise<Figures> {
    await sleep(30);
    return (await read(daemon, '/1.0')).environment.event_loop as Figures;
  }
  /** The figures after a try, reused before the next one, since nothing is sent in between. */
  let latest: Figures | undefined;

  return {
    dir,
    daemon,
    lxdSocket,
    async expectFree(send) {
      const holds: string[] = [];
      for (let count = 0; count < tries; count += 1) {
        const before = latest ?? (await figures());
        const seen = daemon.log.length;
        await send();
        latest = await figures();
        if (latest.over_limit === before.over_limit) return;
        const lines = daemon.log.slice(seen).filter((line) => line.includes('event loop was blocked'));
        const limit = latest.limit_ms * slowness();
        const isLogged = lines.length > 0 && lines.every((line) => heldMs(line) <= limit);
        if (isLogged && latest.longest_ms <= Math.max(before.longest_ms, limit)) return;
        holds.push(...lines);
      }
      expect.fail(`the event loop was blocked in each of ${tries} tries: ${holds.join('\n')}`);
    },
    async close() {
      await daemon.kill('SIGTERM');
      await rm(dir, { recursive: true, force: true });
    },
  };
}
