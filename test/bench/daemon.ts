// The bundled daemon as a process: from its start to ready, and its memory when idle, with many containers in its store.
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createMany } from './containers.ts';
import type { BenchContext, Group } from './group.ts';
import { lxdName } from './report.ts';
import { names, residentMb, startGantryd, temporaryDir } from './servers.ts';
import { Wire } from './wire.ts';

const starts = 9;
/** How many of them are measured until they are idle. */
const watched = 3;
const afterStartMs = 2000;
/** Node releases the memory of the start after some seconds without work. */
const idleMs = 20_000;

export const daemonGroup: Group = async (context) => {
  const ready: Record<string, readonly number[]> = {};
  const early: Record<string, readonly number[]> = {};
  const idle: Record<string, readonly number[]> = {};
  for (const server of context.servers) {
    if (server.name === lxdName) {
      idle[lxdName] = [residentMb(server.pid)];
      continue;
    }
    context.say(`daemon: ${server.name}`);
    const measured = await measure(context, server.isReal ? 'lxc' : 'sim');
    ready[server.name] = measured.ready;
    early[server.name] = measured.early;
    idle[server.name] = measured.idle;
  }
  const { containers } = context;
  return [
    { group: 'daemon', what: `start to ready with ${containers} containers`, unit: 'ms', samples: ready, atMost: 500 },
    { group: 'daemon', what: `memory 2 s after start, ${containers} containers`, unit: 'MB', samples: early },
    { group: 'daemon', what: `idle memory with ${containers} containers`, unit: 'MB', samples: idle, atMost: 75 },
  ];
};

async function measure({ containers, signal }: BenchContext, runtime: 'lxc' | 'sim') {
  const dir = await temporaryDir();
  const ready: number[] = [];
  const early: number[] = [];
  const idle: number[] = [];
  try {
    await fill(dir, runtime, containers, signal);
    for (let round = 0; round < starts; round += 1) {
      signal.throwIfAborted();
      const started = await startGantryd(dir, runtime);
      try {
        ready.push(started.readyMs);
        if (round >= watched) continue;
        await pause(afterStartMs, undefined, { signal });
        early.push(residentMb(started.child.pid ?? 0));
        await pause(idleMs - afterStartMs, undefined, { signal });
        idle.push(residentMb(started.child.pid ?? 0));
      } finally {
        await started.stop();
      }
    }
    return { ready, early, idle };
  } finally {
    // No container was started and there is no network: all of it is files.
    await rm(dir, { recursive: true, force: true });
  }
}

async function fill(dir: string, runtime: 'lxc' | 'sim', containers: number, signal: AbortSignal): Promise<void> {
  const started = await startGantryd(dir, runtime);
  const wire = new Wire(started.socket);
  try {
    const root = { type: 'disk', path: '/', pool: names.pool };
    await wire.change('POST', '/1.0/storage-pools', { name: names.pool, driver: 'dir', config: {} });
    await wire.change('POST', '/1.0/profiles', { name: names.profile, config: {}, devices: { root } });
    await createMany({ wire }, containers, signal, []);
  } finally {
    await wire.close();
    await started.stop();
  }
}
