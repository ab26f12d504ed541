// Compares everything a daemon keeps (records, files, and on a real host mounts, interfaces, processes) with its API.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Gantryd } from '../daemons/gantryd.ts';
import { hostParts } from './remains.ts';
import { until } from '../until.ts';

interface Shown {
  readonly containers: readonly {
    readonly name: string;
    readonly status: string;
    readonly config: Readonly<Record<string, string>>;
  }[];
  readonly pools: readonly string[];
  readonly images: readonly string[];
  readonly networks: readonly string[];
  readonly operations: readonly string[];
}

/** `part: entry that should not exist` and the other way round; empty once both agree. */
export async function orphans(gantryd: Gantryd, networksOfTest: readonly string[]): Promise<readonly string[]> {
  let found: readonly string[] = [];
  // A command whose client was killed before it connected times out after some seconds, and trees are unlinked after the answer.
  await until(async () => (found = await differences(gantryd, networksOfTest)).length === 0).catch(() => {});
  return found;
}

async function differences(gantryd: Gantryd, networksOfTest: readonly string[]): Promise<readonly string[]> {
  const shown = await readAll(gantryd);
  const names = shown.containers.map(({ name }) => name);
  const running = shown.containers.filter(({ status }) => status === 'Running');
  return [
    ...difference('operations', shown.operations, []),
    ...poolFiles(gantryd.dir, shown, names),
    ...difference('image files', list(join(gantryd.dir, 'images')), shown.images),
    ...difference(
      'log directories',
      list(join(gantryd.dir, 'logs')).filter((name) => !names.includes(name)),
      [],
    ),
    ...difference(
      'network directories',
      list(join(gantryd.dir, 'networks')).map((name) => name.replace(/\.json$/, '')),
      shown.networks,
    ),
    ...(gantryd.runtime === 'sim'
      ? difference(
          'simulated runs',
          stateFiles(gantryd.dir),
          running.map(({ name }) => name),
        )
      : hostDifferences(gantryd, shown, running, networksOfTest)),
  ];
}

async function readAll(gantryd: Gantryd): Promise<Shown> {
  const namesOf = async (kind: string, key = 'name'): Promise<string[]> =>
    ((await gantryd.get(`/1.0/${kind}?recursion=1`)) as Record<string, string>[]).map((object) => object[key] ?? '');
  const networks = (await gantryd.get('/1.0/networks?recursion=1')) as { name: string; managed: boolean }[];
  return {
    containers: (await gantryd.get('/1.0/containers?recursion=1')) as Shown['containers'],
    pools: await namesOf('storage-pools'),
    images: await namesOf('images', 'fingerprint'),
    networks: networks.filter(({ managed }) => managed).map(({ name }) => name),
    operations: await operationsAtWork(gantryd),
  };
}

async function operationsAtWork(gantryd: Gantryd): Promise<readonly string[]> {
  const all = (await gantryd.get('/1.0/operations?recursion=1')) as {
    id: string;
    description: string;
    status_code: number;
  }[];
  return all.filter(({ status_code: code }) => code < 200).map(({ id, description }) => `${description} ${id}`);
}

function poolFiles(dir: string, shown: Shown, names: readonly string[]): readonly string[] {
  const root = join(dir, 'storage-pools');
  const volumes = shown.pools.flatMap((pool) => list(join(root, pool, 'containers')));
  const unpacked = shown.pools.flatMap((pool) => list(join(root, pool, 'images')));
  return [
    ...difference('pool directories', list(root), shown.pools),
    ...difference('container directories', volumes, names),
    ...difference(
      'root file systems',
      volumes.filter((name) =>
        shown.pools.some((pool) => existsSync(join(root, pool, 'containers', name, 'rootfs', 'bin'))),
      ),
      names,
    ),
    ...difference(
      'unpacked images',
      unpacked.filter((name) => !shown.images.includes(name)),
      [],
    ),
    ...difference(
      'temporary directories',
      shown.pools.flatMap((pool) => list(join(root, pool, 'tmp'))),
      [],
    ),
  ];
}

function hostDifferences(
  gantryd: Gantryd,
  shown: Shown,
  running: Shown['containers'],
  networksOfTest: readonly string[],
): readonly string[] {
  const parts = hostParts(gantryd.dir, networksOfTest);
  const monitors = running.map(({ name }) => `monitor ${name}`);
  const dnsmasqs = shown.networks.map((name) => `dnsmasq ${name}`);
  const hostNames = running.map(({ config }) => config['volatile.eth0.host_name'] ?? '(none)');
  const files = parts.runFiles.map((path) => path.slice(path.lastIndexOf('/') + 1).replace(/^[0-9a-f]{8}-/, ''));
  return [
    ...difference('bridges', parts.bridges, shown.networks),
    ...difference('interfaces on bridges', parts.plugged, hostNames),
    ...difference(
      'nft tables',
      parts.tables,
      shown.networks.map((name) => `gantry_${name}`),
    ),
    ...difference('processes', parts.processes, [...monitors, ...dnsmasqs]),
    ...difference('run directories', files, [...running.map(({ name }) => name), ...shown.networks]),
    ...difference(
      'control groups',
      parts.groups,
      running.map(({ name }) => name),
    ),
    ...difference(
      'mounts',
      parts.mounts.filter(
        (path) => !running.some(({ name }) => path.includes(`/${name}/`) || path.endsWith(`/${name}`)),
      ),
      [],
    ),
  ];
}

function difference(what: string, found: readonly string[], wanted: readonly string[]): readonly string[] {
  const count = (names: readonly string[], name: string): number => names.filter((other) => other === name).length;
  return [...new Set([...found, ...wanted])].flatMap((name) => {
    const more = count(found, name) - count(wanted, name);
    return more === 0 ? [] : [`${what}: ${name} ${more > 0 ? 'should not be there' : 'is missing'}`];
  });
}

const list = (dir: string): readonly string[] =>
  existsSync(dir)
    ? readdirSync(dir).filter((name) => name !== '.uploads' || readdirSync(join(dir, name)).length > 0)
    : [];

const stateFiles = (dir: string): readonly string[] =>
  list(join(dir, 'runtime'))
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length));
