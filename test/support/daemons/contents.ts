// What a daemon has, as lines that are the same each time: for tests that say what a command changed.
import type { Json, TestDaemon } from './daemon.ts';

/** Values that differ each time, or that the daemon keeps for itself. */
const isChance = (key: string): boolean => /^(volatile\.|image\.|user\.gantry)/.test(key);

const known = (config: Record<string, string>): string =>
  Object.entries(config)
    .filter(([key, value]) => !isChance(key) && value !== '')
    .map(([key, value]) => ` ${key}=${value}`)
    .toSorted()
    .join('');

const isOwned = (config: Record<string, string>): string =>
  Object.keys(config).some((key) => key.startsWith('user.gantry')) ? ', declared' : '';

function containerLines(container: Json): string[] {
  const { name, status, description, profiles, config, devices, snapshots, backups } = container;
  const said = description === '' ? '' : ` "${description}"`;
  const line = `container ${name}${said} ${status}, profiles ${profiles.join(' ')}${isOwned(config)}:${known(config)}`;
  const nics = Object.keys(devices).map((device) => `device ${device} of ${name}`);
  const parts = ['snapshot', 'backup'].flatMap((kind) =>
    ((kind === 'snapshot' ? snapshots : backups) ?? []).map((part: Json) => `${kind} ${name}/${part.name}`),
  );
  return [line, ...nics, ...parts];
}

const listed: readonly [path: string, kind: string][] = [
  ['profiles', 'profile'],
  ['networks', 'network'],
  ['storage-pools', 'pool'],
  ['projects', 'project'],
];

/** A line for each object and part of it, in a fixed order. */
export async function contentsOf(daemon: TestDaemon): Promise<string[]> {
  const all = async (path: string): Promise<Json[]> => (await daemon.get(`/1.0/${path}?recursion=1`)) as Json[];
  const containers = (await daemon.get('/1.0/containers?recursion=2')) as Json[];
  const others = await Promise.all(
    listed.map(async ([path, kind]) =>
      (await all(path)).map((each) => {
        const devices = Object.keys(each.devices ?? {})
          .map((name) => ` ${name}`)
          .join('');
        return `${kind} ${each.name} "${each.description ?? ''}"${isOwned(each.config)}:${known(each.config)}${devices}`;
      }),
    ),
  );
  const pools = (await all('storage-pools')).map((pool) => pool.name as string);
  const volumes = await Promise.all(
    pools.map(async (pool) =>
      (await all(`storage-pools/${pool}/volumes/custom`)).map((volume) => `volume ${pool}/${volume.name}`),
    ),
  );
  const images = (await all('images')).map(
    ({ aliases }) =>
      `image ${aliases
        .map((alias: Json) => alias.name)
        .toSorted()
        .join(' ')}`,
  );
  const certificates = (await all('certificates')).map((certificate) => `certificate ${certificate.name}`);
  const server = await daemon.get('/1.0');
  return [
    ...containers.flatMap(containerLines),
    ...others.flat(),
    ...volumes.flat(),
    ...images,
    ...certificates,
    `server:${known(server.config)}`,
  ].toSorted();
}
