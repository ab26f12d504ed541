// Who uses what in the live world: the blast radius of an edit and the order of deletes.
import type { Container } from '../../../server/api/container/container.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { addressOf, type Address, type JsonObject } from '../documents/document.ts';
import { deviceReferences } from '../kinds/devices.ts';
import { contentsOf } from '../kinds/project.ts';
import type { Observed } from '../documents/observed.ts';
import { projectOfLive, scopesOf } from './project-scope.ts';
import { scopedName } from '../text/scoped-name.ts';

/** Addresses of users, by what they use. */
export type Usage = ReadonlyMap<Address, readonly string[]>;

export function findUsage(observed: Observed): Usage {
  const usage = new Map<Address, string[]>();
  const add = (used: Address, user: string): void => {
    const users = usage.get(used);
    if (users === undefined) usage.set(used, [user]);
    else if (users.at(-1) !== user) users.push(user);
  };
  const { keyOf } = scopesOf(observed);
  const addDevices = (user: Address, devices: unknown, project: string | undefined): void => {
    for (const { kind, name } of deviceReferences(devices as JsonObject | undefined))
      add(addressOf(kind, keyOf(kind, name, project)), user);
  };
  for (const [name, { object }] of observed.containers) {
    const user = addressOf('container', name);
    const project = projectOfLive(observed, object);
    for (const profile of object.profiles) add(addressOf('profile', keyOf('profile', profile, project)), user);
    addDevices(user, object.expanded_devices, project);
  }
  for (const [name, { object }] of observed.profiles)
    addDevices(addressOf('profile', name), object.devices, projectOfLive(observed, object));
  for (const [name, { object }] of observed.aliases)
    add(
      addressOf('image', keyOf('image', object.target, projectOfLive(observed, object))),
      addressOf('image_alias', name),
    );
  for (const [name, { object }] of observed.projects)
    for (const url of contentsOf(object)) add(addressOf('project', name), userOf(url, observed.base ?? 'default'));
  for (const [name, { object }] of observed.volumes)
    add(addressOf('storage_pool', object.pool), addressOf('storage_volume', name));
  for (const users of usage.values()) users.sort();
  return usage;
}

const collections: Readonly<Record<string, KindName>> = {
  instances: 'container',
  containers: 'container',
  images: 'image',
  networks: 'network',
  profiles: 'profile',
};

/** `/1.0/instances/web1?project=team`: its address, or the URL itself where there is no kind for it. */
function userOf(url: string, base: string): string {
  const [path = '', query = ''] = url.split('?');
  const project = new URLSearchParams(query).get('project') ?? 'default';
  const scope = project === base ? undefined : project;
  const [, , collection = '', ...rest] = path.split('/').map(decodeURIComponent);
  const [pool = '', , type, volume = ''] = rest;
  if (collection === 'storage-pools' && type === 'custom')
    return addressOf('storage_volume', scopedName(`${pool}/${volume}`, scope));
  const kind = collections[collection];
  return kind === undefined ? url : addressOf(kind, scopedName(rest.join('/'), scope));
}

const runningCodes = new Set([101, 103, 106, 109, 110, 111]);
/** Frozen counts as running: the processes are there. */
export const isRunning = (container: Container): boolean => runningCodes.has(container.status_code);
