// A hundred simulated members, several to a process, with ten thousand containers: lists, the cost of being idle, a host that joins.
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Gantryd } from '../support/daemons/gantryd.ts';
import { call } from '../support/daemons/daemon.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../support/store/etcd.ts';
import { type Candidate, done, found, joinCluster } from '../support/cluster/form.ts';
import { timesOf, type BenchContext, type Group } from './group.ts';
import type { Row } from './report.ts';
import { startCrowdProcess, type CrowdProcess } from './processes/crowd-process.ts';
import { gantrydPath, processorMs, temporaryDir } from './servers.ts';
import { inParallel, NotNow, Wire } from './wire.ts';

const memberCount = 100;
const perProcess = 10;
const containerCount = 10_000;
/** Where making them all takes longer, the rest is measured with those that there are by then. */
const longestCreatingMs = 6 * 60_000;
/** Max attempts for one container while members answer that they cannot now. */
const maxAttempts = 8;
const againMs = 500;
const idleMs = 30_000;
/** V8 collects the garbage of the work before in several passes, some seconds apart. */
const collectedMs = 60_000;
const pool = 'default';

interface Process extends CrowdProcess {
  readonly members: readonly Candidate[];
}

export const clusterCrowdGroup: Group = async (context) => {
  const missing = etcdMissing();
  if (missing !== undefined) {
    context.say(`skipped: a cluster of ${memberCount} members: ${missing}`);
    return [];
  }
  const dir = await temporaryDir();
  const processes: Process[] = [];
  let founder: Gantryd | undefined;
  let etcd: TestEtcd | undefined;
  try {
    etcd = await startEtcd({ members: 3 });
    const flags = ['--log-level', 'error', '--cluster-store', `etcd://${etcd.endpoints.join(',')}/crowd`];
    founder = await new Gantryd({ gantryd: gantrydPath }, { runtime: 'sim', dir: join(dir, 'm0'), flags }).start();
    return await measure(context, { dir, founder, etcd, processes });
  } finally {
    for (const { child } of processes) await ended(child);
    await founder?.stop();
    await etcd?.stop();
    await rm(dir, { recursive: true, force: true });
  }
};

interface Crowd {
  readonly dir: string;
  readonly founder: Gantryd;
  readonly etcd: TestEtcd;
  readonly processes: Process[];
}

async function measure(
  { say, signal }: BenchContext,
  { dir, founder, etcd, processes }: Crowd,
): Promise<readonly Row[]> {
  const addressOf = addresses();
  const first = candidate('m0', founder.dir, founder.socketPath, addressOf(0));
  await found(first);
  await done(first, 'POST', '/1.0/storage-pools', { name: pool, driver: 'dir' });
  const names = Array.from({ length: memberCount - 1 }, (_, index) => `m${index + 1}`);
  const joins: number[] = [];
  for (let from = 0; from < names.length; from += perProcess) {
    signal.throwIfAborted();
    const some = names.slice(from, from + perProcess);
    say(`cluster: ${from + 1} of ${memberCount} members`);
    const process = await startProcess(dir, some, (index) => addressOf(1 + from + index));
    processes.push(process);
    for (const host of process.members)
      joins.push(...(await timesOf(1, () => joinCluster('gantryd', first, host), signal)));
  }
  const wires = [first, ...processes.map(({ members }) => members[0]!)].map(
    ({ dir: at }) => new Wire(join(at, 'unix.socket')),
  );
  try {
    await mustHave(wires, '/1.0/cluster/members', memberCount);
    const idleEmpty = await idle(founder, etcd, processes, signal);
    say(`cluster: creating ${containerCount} containers on ${memberCount} members`);
    const beganAt = performance.now();
    const { made, again } = await createAll(wires, signal);
    const creatingMs = performance.now() - beganAt;
    if (again > 0) say(`cluster: ${again} creations could not be made at once, and were sent again`);
    await mustHave(wires, '/1.0/containers', made);
    const lists: number[] = [];
    const list = async (index: number): Promise<void> => {
      const answer = await wires[index % wires.length]!.send('GET', '/1.0/containers?recursion=1');
      if (answer.status !== 200) throw new Error(`the list was answered ${answer.status}: ${answer.text}`);
    };
    await timesOf(wires.length, list, signal);
    lists.push(...(await timesOf(2 * wires.length, list, signal)));
    const idleFull = await idle(founder, etcd, processes, signal);
    // The last ones of a hundred join a cluster that is nearly full.
    const row = (what: string, unit: Row['unit'], samples: readonly number[], atMost?: number): Row => ({
      group: 'cluster',
      what: `${memberCount} members: ${what}`,
      unit,
      samples: { 'gantryd sim': samples },
      ...(atMost === undefined ? {} : { atMost }),
    });
    return [
      row(`recursion=1 of ${made}`, 'ms', lists, 500),
      row(`create ${made} empty containers`, '/s', [(made * 1000) / creatingMs]),
      row('a host joins, the last 20', 'ms', joins.slice(-20), 2000),
      row('processor of all idle members, empty, of a core', '%', [idleEmpty.members], 5),
      row(`processor of all idle members, ${made} containers`, '%', [idleFull.members], 5),
      row('processor of their idle etcds, of a core', '%', [idleFull.etcd]),
    ];
  } finally {
    for (const wire of wires) await wire.close();
  }
}

async function startProcess(
  dir: string,
  names: readonly string[],
  addressOf: (index: number) => string,
): Promise<Process> {
  const started = await startCrowdProcess(dir, names);
  const members = started.sockets.map((socketPath, index) => {
    const name = names[index] ?? '';
    return candidate(name, join(dir, name), socketPath, addressOf(index));
  });
  return { ...started, members };
}

/** Each member has an address of the loopback interface of its own: the thousands of connections among them, which the kernel gives ports of
 *  127.0.0.1, cannot have taken its port. */
function addresses(): (index: number) => string {
  const run = 1 + randomInt(250);
  return (index) => `127.${run}.${index >> 7}.${1 + (index & 127)}:8443`;
}

const candidate = (name: string, dir: string, socketPath: string, address: string): Candidate => ({
  name,
  dir,
  address,
  call: (method, path, body) => call({ socketPath }, method, path, body),
});

/** Percent of a core, used without requests. */
async function idle(founder: Gantryd, etcd: TestEtcd, processes: readonly Process[], signal: AbortSignal) {
  const etcds = etcd.endpoints.map((_, member) => etcd.pid(member));
  const used = async (): Promise<{ members: number; etcd: number }> => {
    const times = await Promise.all(processes.map((process) => process.cpu()));
    return {
      members: times.reduce((sum, ms) => sum + ms, processorMs(founder.pid)),
      etcd: etcds.reduce((sum, pid) => sum + processorMs(pid), 0),
    };
  };
  await pause(collectedMs, undefined, { signal });
  const before = await used();
  await pause(idleMs, undefined, { signal });
  const after = await used();
  const percent = (from: number, to: number): number => ((to - from) * 100) / idleMs;
  return { members: percent(before.members, after.members), etcd: percent(before.etcd, after.etcd) };
}

/** `again`: how often one was sent again. */
async function createAll(wires: readonly Wire[], signal: AbortSignal): Promise<{ made: number; again: number }> {
  const devices = { root: { type: 'disk', path: '/', pool } };
  const endMs = performance.now() + longestCreatingMs;
  let [made, again] = [0, 0];
  const create = async (index: number): Promise<void> => {
    if (performance.now() > endMs) return;
    const wire = wires[index % wires.length]!;
    const body = { name: `gantry-bench-${index}`, source: { type: 'none' }, devices };
    for (let attempt = 1; ; attempt += 1) {
      try {
        await wire.change('POST', '/1.0/containers', body);
        break;
      } catch (error) {
        if (!(error instanceof NotNow) || attempt === maxAttempts) throw error;
        again += 1;
      }
      await pause(againMs, undefined, { signal });
      // What was made although nobody said so is not made again.
      if ((await wire.send('GET', `/1.0/containers/${body.name}`)).status === 200) break;
    }
    made += 1;
  };
  const all = Array.from({ length: containerCount }, (_, index) => index);
  await inParallel(all, create, signal);
  return { made, again };
}

async function mustHave(wires: readonly Wire[], path: string, count: number): Promise<void> {
  for (const wire of wires) {
    const found = (await wire.get(path)) as readonly unknown[];
    if (found.length !== count) throw new Error(`${path} lists ${found.length} of ${count}`);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.send('stop');
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await gone;
  clearTimeout(timer);
}
