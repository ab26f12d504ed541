// Many containers: creating them, listing, reading and changing one, replacing a profile that 200 of them use, deleting.
import { type BenchContext, type Group, takingTurns, timesOf } from './group.ts';
import type { Row } from './report.ts';
import { names, removeContainers, type Server } from './servers.ts';
import { inParallel } from './wire.ts';

const sharedUsers = 200;
type Samples = Record<string, number[]>;

export const containersGroup: Group = async (context) => {
  const { containers, servers, say, signal } = context;
  const created: Samples = {};
  const removed: Samples = {};
  for (const server of servers) {
    say(`containers: creating on ${server.name}`);
    const churned = await churn(context, server);
    created[server.name] = churned.create;
    removed[server.name] = churned.remove;
  }
  say('containers: single requests');
  const one = `/1.0/containers/${names.container(containers - 1)}`;
  const read = (path: string) => (server: Server) => readAll(server, path);
  const patch = (server: Server, index: number) =>
    server.wire.change('PATCH', one, { config: { 'user.bench': String(index) } });
  const putProfile = (server: Server, index: number) =>
    server.wire.change('PUT', `/1.0/profiles/${names.sharedProfile}`, {
      config: { 'user.bench': String(index) },
      devices: {},
    });
  // Not measured: client code, and a server that compiles at run time, are slower the first times.
  await takingTurns(servers, { count: 500, block: 500 }, read(one), signal);
  const rows: readonly Row[] = [
    row(`create ${containers} empty containers, 16 clients`, '/s', created, 10),
    row(
      `GET /1.0/containers?recursion=1 of ${containers}`,
      'ms',
      await takingTurns(servers, { count: 15, block: 5 }, read('/1.0/containers?recursion=1'), signal),
      10,
    ),
    row('GET one container', 'ms', await takingTurns(servers, { count: 300, block: 50 }, read(one), signal), 10),
    row('GET /1.0', 'ms', await takingTurns(servers, { count: 300, block: 50 }, read('/1.0'), signal), 1.3),
    row('PATCH one container', 'ms', await takingTurns(servers, { count: 100, block: 25 }, patch, signal), 10),
    row(
      `PUT a profile that ${Math.min(sharedUsers, containers)} containers use`,
      'ms',
      await takingTurns(servers, { count: 5, block: 5 }, putProfile, signal),
      50,
    ),
  ];
  for (const server of servers) removed[server.name]?.push(await removeAll(context, server));
  return [...rows, row(`delete ${containers} containers, 16 clients`, '/s', removed)];
};

const row = (what: string, unit: Row['unit'], samples: Row['samples'], timesLxd?: number): Row => ({
  group: 'containers',
  what,
  unit,
  samples,
  ...(timesLxd === undefined ? {} : { timesLxd }),
});

/** Creates all of them, as often as the server is fast enough, and keeps the last ones. */
async function churn(context: BenchContext, server: Server) {
  const { signal, containers } = context;
  const create: number[] = [];
  const remove: number[] = [];
  const again = server.rounds(3, 1);
  for (let round = 1; round <= again; round += 1) {
    const [made] = await timesOf(1, () => createMany(server, containers, signal), signal);
    create.push((containers * 1000) / (made ?? Number.NaN));
    if (round < again) remove.push(await removeAll(context, server));
  }
  const found = (await server.wire.get('/1.0/containers?recursion=1')) as unknown[];
  if (found.length < containers) throw new Error(`${server.name} lists ${found.length} of ${containers} containers`);
  return { create, remove };
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
export async function readAll(server: Server, path: string): Promise<void> {
  const answer = await server.wire.send('GET', path);
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
}
