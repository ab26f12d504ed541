// Many containers that run at once: the start of 50 together, the memory of containers and servers, the state of 200.
import { setTimeout as pause } from 'node:timers/promises';
import { takingTurns, timesOf, type BenchContext, type Group } from './group.ts';
import { mustBe, withImage, type ImageContainers } from './image-containers.ts';
import { familyOf, monitorsOf, proportionalMb } from './memory.ts';
import type { Row } from './report.ts';
import { names, type Server } from './servers.ts';
import { inParallel } from './wire.ts';

/** At most; fewer when the bench is run with fewer containers. */
const maxTogether = 50;
const maxPolled = 200;
/** After the start, until the containers have leases and the memory of the start is released. */
const settleMs = 5_000;

export const crowdGroup: Group = async (context) =>
  withImage(context, 'a crowd of containers', async (containers) => {
    const { servers } = containers;
    const sizes = sizesOf(context);
    const samples: Record<'start' | 'each' | 'server', Record<string, number[]>> = { start: {}, each: {}, server: {} };
    for (const server of servers) {
      const rounds = await startTogether(context, containers, server);
      samples.start[server.name] = rounds.map(({ startMs }) => startMs);
      samples.each[server.name] = rounds.map(({ eachMb }) => eachMb);
      samples.server[server.name] = rounds.map(({ serverMb }) => serverMb);
    }
    const row = { group: 'crowd', timesLxd: 1 } as const;
    return [
      { ...row, what: `start ${sizes.together} containers together`, unit: 'ms', samples: samples.start },
      { ...row, what: `memory of each of ${sizes.together} containers`, unit: 'MB', samples: samples.each },
      { ...row, what: `server and helpers while ${sizes.together} run`, unit: 'MB', samples: samples.server },
      await pollRow(context, servers),
    ];
  });

const sizesOf = ({ containers }: BenchContext) => ({
  polled: Math.min(maxPolled, containers),
  together: Math.min(maxTogether, containers),
});

interface Round {
  readonly startMs: number;
  /** The memory of its processes and its monitor, and its share of the growth of the server. */
  readonly eachMb: number;
  readonly serverMb: number;
}

async function startTogether(context: BenchContext, { create, act }: ImageContainers, server: Server) {
  const { say, signal } = context;
  const { polled, together } = sizesOf(context);
  say(`crowd: ${polled} containers on ${server.name}`);
  const all = Array.from({ length: polled }, (_, index) => index);
  await inParallel(all, (index) => create(server, index), signal);
  const first = all.slice(0, together);
  const rounds: Round[] = [];
  const count = server.rounds(3, 2);
  for (let round = 1; round <= count; round += 1) {
    await pause(settleMs, undefined, { signal });
    const before = proportionalMb(familyOf([server.pid]));
    const start = (): Promise<unknown> => Promise.all(first.map((index) => act('start')(server, index)));
    const [startMs = Number.NaN] = await timesOf(1, start, signal);
    await mustBe([server], together, 'Running');
    await pause(settleMs, undefined, { signal });
    const monitors = monitorsOf(names.container(0).replace(/0$/, ''));
    const serverMb = proportionalMb(familyOf([server.pid]));
    const containersMb = proportionalMb(familyOf(monitors));
    const eachMb = (containersMb + Math.max(0, serverMb - before)) / together;
    rounds.push({ startMs, eachMb, serverMb: serverMb + proportionalMb(monitors) });
    if (round < count) await inParallel(first, (index) => act('stop', true)(server, index), signal);
  }
  // The next server's containers have the same names: these must have left /proc while its memory is measured.
  if (context.servers.some((other) => other.isReal && other !== server)) {
    await inParallel(first, (index) => act('stop', true)(server, index), signal);
  }
  return rounds;
}

async function pollRow(context: BenchContext, servers: readonly Server[]): Promise<Row> {
  const { say, signal } = context;
  const { polled } = sizesOf(context);
  for (const server of servers) {
    say(`crowd: starting ${polled} on ${server.name}`);
    const started = Array.from({ length: polled }, (_, index) => index);
    await inParallel(started, (index) => startOnce(server, index), signal);
  }
  await pause(settleMs, undefined, { signal });
  say('crowd: asking for their states');
  const samples = await takingTurns(servers, { count: 10, block: 2 }, poll(polled), signal);
  for (const server of servers) {
    const running = Array.from({ length: polled }, (_, index) => index);
    await inParallel(running, (index) => stop(server, index), signal);
  }
  return { group: 'crowd', what: `recursion=2 of ${polled} running`, unit: 'ms', samples, timesLxd: 10 };
}

const state = (server: Server, index: number, action: string): Promise<unknown> =>
  server.wire.change('PUT', `/1.0/containers/${names.container(index)}/state`, { action, force: true, timeout: 30 });
const startOnce = async (server: Server, index: number): Promise<void> => {
  const { status } = (await server.wire.get(`/1.0/containers/${names.container(index)}`)) as { status: string };
  if (status !== 'Running') await state(server, index, 'start');
};
const stop = (server: Server, index: number): Promise<unknown> => state(server, index, 'stop');

const poll = (wanted: number) => async (server: Server) => {
  const found = (await server.wire.get('/1.0/containers?recursion=2')) as { state: { processes: number } | null }[];
  const alive = found.filter((one) => (one.state?.processes ?? 0) > 0).length;
  if (alive !== wanted) throw new Error(`${server.name} gave the state of ${alive} of ${wanted} containers`);
};
