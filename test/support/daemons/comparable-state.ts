// Everything that users have on a daemon, such that two daemons with the same can be compared: without moments, random values, paths
// of the state directory, and the notes by which gantry knows what it owns.
import { notePrefix } from '../../../reconciler/core/ownership/owner-records.ts';
import type { Json, TestDaemon } from './daemon.ts';

const moments = /(?:^|_)(?:at|on)$/;
/** Made anew by each daemon for each container. */
const random = /^volatile\.(?:.*\.hwaddr|.*\.host_name|uuid|.*\.last_state.*|last_state\..*)$/;

/** Kind to name to object. Images have no name, so their fingerprints stand for it. */
export async function daemonState(
  daemon: Pick<TestDaemon, 'get' | 'dir'>,
): Promise<Record<string, Record<string, Json>>> {
  const list = async (kind: string, nameOf: (object: Json) => string = ({ name }) => name) =>
    byName((await daemon.get(`/1.0/${kind}?recursion=1`)) as readonly Json[], nameOf);
  const pools = await list('storage-pools');
  const volumes = await Promise.all(
    Object.keys(pools).map((pool) =>
      list(`storage-pools/${pool}/volumes`, ({ type, name }) => `${pool}/${type}/${name}`),
    ),
  );
  const state = {
    pools,
    volumes: Object.assign({}, ...volumes) as Record<string, Json>,
    networks: await list('networks'),
    profiles: await list('profiles'),
    images: await list('images', ({ fingerprint }) => fingerprint),
    aliases: await list('images/aliases'),
    containers: await list('containers'),
    server: { config: (await daemon.get('/1.0')).config },
  };
  return JSON.parse(JSON.stringify(plain(state)).replaceAll(daemon.dir, 'STATE')) as typeof state;
}

const byName = (objects: readonly Json[], nameOf: (object: Json) => string): Record<string, Json> =>
  Object.fromEntries(objects.map((object) => [nameOf(object), object]));

function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key]) => !moments.test(key) && !random.test(key) && !key.startsWith(notePrefix),
  );
  return Object.fromEntries(kept.map(([key, each]) => [key, plain(each)]));
}
