// Many containers: creating them, listing, reading and changing one, replacing a profile that 200 of them use, deleting.
import type { BenchContext, Group } from './group.ts';
import { timesOf } from './group.ts';
import type { Row } from './report.ts';
import { names, removeContainers, type Server } from './servers.ts';
import { inParallel } from './wire.ts';

const sharedUsers = 200;
type Samples = Record<string, readonly number[]>;

export const containersGroup: Group = async (context) => {
  const { containers } = context;
  const samples = { create: {}, list: {}, get: {}, patch: {}, profile: {}, remove: {} } satisfies Record<
    string,
    Samples
  >;
  for (const server of context.servers) {
    context.say(`containers: ${server.name}`);
    const measured = await measure(context, server);
    for (const [what, found] of Object.entries(measured))
      (samples[what as keyof typeof samples] as Samples)[server.name] = found;
  }
  const rows: readonly Row[] = [
    row(`create ${containers} empty containers, 16 clients`, '/s', samples.create, 10),
    row(`GET /1.0/containers?recursion=1 of ${containers}`, 'ms', samples.list, 10),
    row('GET one container', 'ms', samples.get, 10),
    row('PATCH one container', 'ms', samples.patch, 10),
    row(`PUT a profile that ${Math.min(sharedUsers, containers)} containers use`, 'ms', samples.profile, 50),
    row(`delete ${containers} containers, 16 clients`, '/s', samples.remove),
  ];
  return rows;
};

const row = (what: string, unit: Row['unit'], samples: Samples, timesLxd?: number): Row => ({
  group: 'containers',
  what,
  unit,
  samples,
  ...(timesLxd === undefined ? {} : { timesLxd }),
});

async function measure(context: BenchContext, server: Server): Promise<Record<string, readonly number[]>> {
  const { signal, containers } = context;
  const { wire, rounds } = server;
  const create: number[] = [];
  const remove: number[] = [];
  const again = rounds(3, 1);
  for (let round = 1; round <= again; round += 1) {
    const [made] = await timesOf(1, () => createMany(server, containers, signal), signal);
    create.push((containers * 1000) / (made ?? Number.NaN));
    if (round < again) remove.push(await removeAll(context, server));
  }
  const found = (await wire.get('/1.0/containers?recursion=1')) as unknown[];
  if (found.length < containers) throw new Error(`${server.name} lists ${found.length} of ${containers} containers`);
  const one = `/1.0/containers/${names.container(containers - 1)}`;
  // Not measured: code of the client, and of a server that compiles as it goes, is slower the first times.
  await timesOf(rounds(1000, 200), () => readAll(server, one), signal);
  const list = await timesOf(rounds(20, 5), () => readAll(server, '/1.0/containers?recursion=1'), signal);
  const get = await timesOf(rounds(500, 100), () => readAll(server, one), signal);
  const patch = await timesOf(
    rounds(100, 30),
    (index) => wire.change('PATCH', one, { config: { 'user.bench': String(index) } }),
    signal,
  );
  const profile = await timesOf(
    rounds(20, 3),
    (index) =>
      wire.change('PUT', `/1.0/profiles/${names.sharedProfile}`, {
        config: { 'user.bench': String(index) },
        devices: {},
      }),
    signal,
  );
  remove.push(await removeAll(context, server));
  return { create, list, get, patch, profile, remove };
}

export async function createMany(
  server: Pick<Server, 'wire'>,
  count: number,
  signal: AbortSignal,
  more: readonly string[] = [names.sharedProfile],
): Promise<void> {
  await inParallel(
    Array.from({ length: count }, (_, index) => index),
    (index) =>
      server.wire.change('POST', '/1.0/containers', {
        name: names.container(index),
        source: { type: 'none' },
        profiles: index < sharedUsers ? [names.profile, ...more] : [names.profile],
      }),
    signal,
  );
}

async function removeAll({ signal, containers }: BenchContext, server: Server): Promise<number> {
  const [gone] = await timesOf(1, () => removeContainers(server.wire, signal), signal);
  return (containers * 1000) / (gone ?? Number.NaN);
}

/** The whole answer has arrived; it is not parsed, which would measure the client. */
async function readAll(server: Server, path: string): Promise<void> {
  const answer = await server.wire.send('GET', path);
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
}
