// Who uses what in the live world: the blast radius of an edit and the order of deletes.
import type { Container } from '../../server/api/container.ts';
import { addressOf, type Address, type JsonObject } from './document.ts';
import { deviceReferences } from './kinds/devices.ts';
import type { Observed } from './observed.ts';

/** Addresses of users, by what they use. */
export type Usage = ReadonlyMap<Address, readonly string[]>;

export function findUsage(observed: Observed): Usage {
  const usage = new Map<Address, string[]>();
  const add = (used: Address, user: string): void => {
    const users = usage.get(used);
    if (users === undefined) usage.set(used, [user]);
    else if (users.at(-1) !== user) users.push(user);
  };
  const addDevices = (user: Address, devices: unknown): void => {
    for (const { kind, name } of deviceReferences(devices as JsonObject | undefined)) add(addressOf(kind, name), user);
  };
  for (const [name, { object }] of observed.containers) {
    const user = addressOf('container', name);
    for (const profile of object.profiles) add(addressOf('profile', profile), user);
    addDevices(user, object.expanded_devices);
  }
  for (const [name, { object }] of observed.profiles) addDevices(addressOf('profile', name), object.devices);
  for (const [name, { object }] of observed.aliases)
    add(addressOf('image', object.target), addressOf('image_alias', name));
  for (const [name, { object }] of observed.volumes)
    add(addressOf('storage_pool', object.pool), addressOf('storage_volume', name));
  for (const users of usage.values()) users.sort();
  return usage;
}

const runningCodes = new Set([101, 103, 106, 109, 110, 111]);
/** Frozen counts as running: the processes are there. */
export const isRunning = (container: Container): boolean => runningCodes.has(container.status_code);
