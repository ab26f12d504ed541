// Lists of containers with all their fields: 300 of them, and 50 projects with 20 each, of all projects at once and of one.
import { type BenchContext, type Group, takingTurns } from './group.ts';
import { createMany, readAll } from './containers.ts';
import type { Row } from './report.ts';
import { names, removeContainers, type Server } from './servers.ts';
import { inParallel } from './wire.ts';

const reads = { count: 21, block: 7 };
const projectName = (index: number): string => `gantry-bench-${index}`;

export const listsGroup: Group = async (context) => {
  const { servers, say, signal } = context;
  // A smaller --count makes all of it smaller.
  const scaled = (usual: number): number =>
    Math.max(1, Math.round((usual * Math.min(context.containers, 1000)) / 1000));
  const [some, projects, each] = [scaled(300), scaled(50), Math.min(20, context.containers)];
  const measured = async (what: string, path: string): Promise<Row> => ({
    group: 'lists',
    what,
    unit: 'ms',
    samples: await takingTurns(servers, reads, (server) => readAll(server, path), signal),
    timesLxd: 10,
  });
  const list = '/1.0/containers?recursion=1';
  try {
    say(`lists: ${some} containers`);
    for (const server of servers) await createMany(server, some, signal, []);
    const rows = [await measured(`GET ${list} of ${some}`, list)];
    for (const server of servers) await removeContainers(server.wire, signal);
    say(`lists: ${projects} projects with ${each} containers each`);
    for (const server of servers) await createProjects(server, projects, each, signal);
    const of = `${projects} projects x ${each}`;
    rows.push(await measured(`GET ${list}&all-projects=true, ${of}`, `${list}&all-projects=true`));
    rows.push(await measured(`GET ${list}&project=ONE, ${of}`, `${list}&project=${projectName(0)}`));
    return rows;
  } finally {
    for (const server of servers) await removeProjects(context, server, projects);
  }
};

async function createProjects(server: Server, projects: number, each: number, signal: AbortSignal): Promise<void> {
  // They share the profiles of default.
  const config = { 'features.profiles': 'false', 'features.images': 'false' };
  for (let index = 0; index < projects; index += 1)
    await server.wire.change('POST', '/1.0/projects', { name: projectName(index), config });
  await inParallel(
    Array.from({ length: projects * each }, (_, index) => index),
    (index) =>
      server.wire.change('POST', `/1.0/containers?project=${projectName(index % projects)}`, {
        name: names.container(index),
        source: { type: 'none' },
        profiles: [names.profile],
      }),
    signal,
  );
}

/** Also after an interrupt, which ends what is measured and not this. */
async function removeProjects({ say }: BenchContext, server: Server, projects: number): Promise<void> {
  const known = (await server.wire.get('/1.0/projects')) as string[];
  for (let index = 0; index < projects; index += 1) {
    const name = projectName(index);
    if (!known.some((url) => url.endsWith(`/${name}`))) continue;
    try {
      await removeContainers(server.wire, new AbortController().signal, name);
      await server.wire.change('DELETE', `/1.0/projects/${name}`);
    } catch (error) {
      say(`removing the project ${name} of ${server.name} failed: ${String(error)}`);
    }
  }
}
