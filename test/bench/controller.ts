// The controller as a process over many simulated hosts with 100 objects each: what it costs at rest, and how soon commits and drift are
// done. The number of hosts is a tenth of --count.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '../../server/client/client.ts';
import type { BenchContext, Group } from './group.ts';
import type { Row } from './report.ts';
import { startCrowdProcess, type CrowdProcess } from './processes/crowd-process.ts';
import { processorMs, residentMb, temporaryDir } from './servers.ts';

const cliPath = fileURLToPath(new URL('../../bin/gantry.js', import.meta.url));
const objects = 100;
/** Daemons of one process. */
const perProcess = 100;
/** A claim on a host is renewed within three minutes: less would leave that out. */
const restMs = 190_000;
const batch = 100;
/** What is asked of a controller with up to 100 hosts, and with up to 1,000. */
const targets = [
  { restMs: 200, memoryMb: 250, commitMs: 5000 },
  { restMs: 300, memoryMb: 1024, commitMs: 60_000 },
] as const;
const drifts = 40;
const limitMs = 180_000;
const firstLimitMs = 1_200_000;

export const controllerGroup: Group = async (context) => {
  const count = Math.max(1, Math.round(context.containers / 10));
  const folder = await temporaryDir();
  const hosts: Host[] = [];
  const processes: CrowdProcess[] = [];
  let controller: ChildProcess | undefined;
  try {
    context.say(`controller: starting ${count} simulated hosts`);
    for (let first = 0; first < count; first += perProcess) {
      const names = Array.from({ length: Math.min(perProcess, count - first) }, (_, at) => `h${first + at}`);
      const started = await startCrowdProcess(folder, names, 'memory');
      processes.push(started);
      hosts.push(...started.sockets.map((socket, at) => hostOf(names[at] ?? '', socket)));
      context.signal.throwIfAborted();
    }
    await writeConfig(folder, hosts);
    await writeManifests(folder, 'a');
    controller = spawn(process.execPath, [cliPath, 'controller', '--config', join(folder, 'gantry.yaml')], {
      stdio: 'ignore',
      detached: true,
    });
    return await measured(context, folder, hosts, controller);
  } finally {
    if (controller?.exitCode === null) {
      const ended = new Promise((resolve) => controller?.once('exit', resolve));
      controller.kill('SIGKILL');
      await ended;
    }
    await Promise.all(hosts.map(({ client }) => client.close()));
    await Promise.all(processes.map((one) => one.stop()));
    await rm(folder, { recursive: true, force: true });
  }
};

interface Host {
  readonly name: string;
  readonly socket: string;
  readonly client: Client;
}

const hostOf = (name: string, socket: string): Host => ({ name, socket, client: createClient(`unix://${socket}`) });

async function writeConfig(folder: string, hosts: readonly Host[]): Promise<void> {
  const lines = hosts.map(({ name, socket }) => `  - { name: ${name}, address: "unix://${socket}" }`);
  await writeFile(join(folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
  await mkdir(join(folder, 'manifests'));
  await writeFile(
    join(folder, 'gantry.yaml'),
    `hosts: { file: hosts.yaml }
sources: [{ name: bench, directory: { path: manifests, interval: 1s } }]
sets: [{ name: bench, source: bench, retry: { first: 1s }, rollout: { batches: ${batch} } }]
`,
  );
}

const writeManifests = (folder: string, note: string): Promise<void> =>
  writeFile(
    join(folder, 'manifests', 'stack.yaml'),
    Array.from(
      { length: objects },
      (_, at) => `kind: profile\nname: p${at}\nconfig: { user.note: ${at === 0 ? note : 'x'} }\n`,
    ).join('---\n'),
  );

async function measured(
  { say, signal }: BenchContext,
  folder: string,
  hosts: readonly Host[],
  { pid = 0 }: ChildProcess,
): Promise<readonly Row[]> {
  // Looks at one host after the other: a thousand at once would take the processors from the controller.
  const all = (name: string, note: string, waitMs = limitMs): Promise<number> =>
    timed(async () => {
      for (const { client } of hosts) await noted(client, name, note, { signal, waitMs });
    });
  const firstMs = await all(`p${objects - 1}`, 'x', firstLimitMs);
  say(`controller: ${hosts.length} x ${objects} objects made in ${Math.round(firstMs)} ms`);
  await sleep(5000, undefined, { signal });
  const before = processorMs(pid);
  await sleep(restMs, undefined, { signal });
  const restingMs = (processorMs(pid) - before) / (restMs / 1000);
  const memoryMb = residentMb(pid);
  say(`controller: at rest ${restingMs.toFixed(1)} ms a second, ${Math.round(memoryMb)} MB`);
  const commits: number[] = [];
  const commitCosts: number[] = [];
  for (const note of ['b', 'c', 'd']) {
    const fromMs = processorMs(pid);
    await writeManifests(folder, note);
    const commitMs = await all('p0', note);
    say(`controller: a commit took ${Math.round(commitMs)} ms`);
    commits.push(commitMs);
    commitCosts.push((processorMs(pid) - fromMs) / hosts.length);
    await sleep(3000, undefined, { signal });
  }
  const heals: number[] = [];
  for (let at = 0; at < drifts; at += 1) {
    const host = hosts[(at * 7) % hosts.length];
    if (host === undefined) break;
    const name = `p${1 + (at % (objects - 1))}`;
    await host.client.patch('profile', name, { config: { 'user.note': 'drift' } });
    heals.push(await timed(() => noted(host.client, name, 'x', { signal, waitMs: limitMs })));
  }
  const p95 = heals.toSorted((a, b) => a - b)[Math.floor(heals.length * 0.95)] ?? Number.NaN;
  const row = (what: string, unit: Row['unit'], samples: readonly number[], atMost?: number): Row => ({
    group: 'controller',
    what: `${hosts.length} hosts x ${objects} objects: ${what}`,
    unit,
    samples: { 'gantry sim': samples },
    ...(atMost === undefined ? {} : { atMost }),
  });
  const target = hosts.length > 100 ? targets[1] : targets[0];
  return [
    row('everything made', 'ms', [firstMs]),
    row('processor time a second at rest', 'ms', [restingMs], target.restMs),
    row('resident memory', 'MB', [memoryMb], target.memoryMb),
    row('a commit is on all hosts', 'ms', commits, target.commitMs),
    row('processor time of a commit, a host', 'ms', commitCosts),
    row('drift is healed, 95th percentile', 'ms', [p95], 2000),
  ];
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

interface Waiting {
  readonly signal: AbortSignal;
  readonly waitMs: number;
}

async function noted(client: Client, name: string, note: string, { signal, waitMs }: Waiting): Promise<void> {
  const endMs = Date.now() + waitMs;
  for (;;) {
    const found = await client.get('profile', name, signal).catch(() => undefined);
    if (found?.metadata.config['user.note'] === note) return;
    if (Date.now() > endMs) throw new Error(`profile ${name} is not as declared after ${waitMs} ms`);
    await sleep(50, undefined, { signal });
  }
}
