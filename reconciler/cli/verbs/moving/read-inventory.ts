// Reads the objects of a server for a move, and reports those that cannot move.
import { ClientError } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { observe } from '../../../engine/observe/observe.ts';
import type { Inventory } from './moves.ts';

export async function readInventory(client: Client, signal: AbortSignal): Promise<Inventory> {
  const world = await observe(client, signal);
  const has = (extension: string): boolean => world.server.extensions.includes(extension);
  const machines = has('virtual-machines') ? await virtualMachines(client, [...world.projects.keys()], signal) : [];
  return {
    world,
    virtualMachines: machines,
    leases: await leasesOf(client, world.networks, signal),
  };
}

async function virtualMachines(
  client: Client,
  projects: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const all = await Promise.all(
    projects.map(async (project) => {
      const path = '/1.0/instances';
      const query = { 'instance-type': 'virtual-machine', recursion: 1, project };
      const { metadata } = await client.http.send<readonly { readonly name: string }[] | null>(
        { method: 'GET', path, query },
        signal,
      );
      return (metadata ?? []).map(({ name }) => (project === 'default' ? name : `${name}@${project}`));
    }),
  );
  return all.flat();
}

async function leasesOf(
  client: Client,
  networks: Inventory['world']['networks'],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const managed = [...networks.values()].flatMap(({ object }) => (object.managed ? [object.name] : []));
  const lists = await Promise.all(managed.map((name) => client.networkLeases(name, signal).catch(noLeases)));
  return new Map(
    lists.flat().flatMap(({ hwaddr, address }) => (address.includes(':') ? [] : [[hwaddr, address] as const])),
  );
}

/** Networks without DHCP have none. */
function noLeases(error: unknown): readonly never[] {
  if (error instanceof ClientError && error.status >= 400 && error.status < 500) return [];
  throw error;
}
