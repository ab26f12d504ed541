// The index of users equals a search through all containers and profiles, after any changes.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeviceMap } from '../../../server/api/schema/common-schemas.ts';
import type { ContainerDocument, ProfileDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { containersWith } from '../../../server/services/shared/used-by.ts';
import { attachedVolumes, devicePools, expand, nicNetworks } from '../../../server/services/shared/expand.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';

const some = ['a', 'b', 'c'] as const;
const name = fc.constantFrom(...some);
const device = fc.oneof(
  name.map((network) => ({ type: 'nic', network })),
  name.map((parent) => ({ type: 'nic', nictype: 'bridged', parent })),
  fc.tuple(name, name).map(([pool, source]) => ({ type: 'disk', pool, source, path: '/data' })),
  name.map((pool) => ({ type: 'disk', pool, path: '/' })),
  fc.constant({ type: 'none' }),
);
const devices: fc.Arbitrary<DeviceMap> = fc.dictionary(fc.constantFrom('eth0', 'data', 'root'), device);
const containerName = fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6');
const change = fc.oneof(
  fc.record({ put: fc.constant('profile'), name, devices }),
  fc.record({
    put: fc.constant('container'),
    name: containerName,
    devices,
    pool: name,
    profiles: fc.uniqueArray(name),
    hwaddr: name,
  }),
  fc.record({ put: fc.constant('nothing'), name: containerName }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

async function make(records: Records, one: Change): Promise<void> {
  await records.commit((changes) => {
    if (!('devices' in one)) {
      if (records.containers.has(one.name)) changes.delete('containers', one.name);
    } else if ('pool' in one) {
      const document = {
        pool: one.pool,
        profiles: one.profiles,
        devices: one.devices,
        config: { 'volatile.eth0.hwaddr': one.hwaddr },
      } as unknown as ContainerDocument;
      changes.put('containers', one.name, document);
    } else {
      const document: ProfileDocument = { v: 1, description: '', config: {}, devices: one.devices };
      changes.put('profiles', one.name, document);
    }
  });
}

/** The expected index, from a search through every container. */
function byLooking(records: Records, kind: string, used: string): readonly string[] {
  return records.containers
    .list()
    .filter(({ document }) => {
      const all = expand(document, (profile) => records.profiles.get(profile)?.document).devices;
      if (kind === 'network') return nicNetworks(all).includes(used);
      if (kind === 'pool') return document.pool === used || devicePools(all).includes(used);
      if (kind === 'hwaddr') return document.config['volatile.eth0.hwaddr'] === used;
      return attachedVolumes(all).some((volume) => `${volume.pool}/${volume.name}` === used);
    })
    .map((entry) => entry.name);
}

const uses = [
  ...some.flatMap((one) => (['network', 'pool', 'hwaddr'] as const).map((kind) => [kind, one] as const)),
  ...some.flatMap((pool) => some.map((volume) => ['volume', `${pool}/${volume}`] as const)),
];

function agrees(records: Records): void {
  for (const [kind, used] of uses)
    expect([kind, used, containersWith(records, kind, used).map((entry) => entry.name)]).toEqual([
      kind,
      used,
      byLooking(records, kind, used),
    ]);
}

describe('the index of users', () => {
  test('equals a search through all containers after every change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 30 }), fc.array(fc.boolean()), async (changes, asks) => {
        const records = await Records.open(openMemoryStore());
        for (const [index, one] of changes.entries()) {
          await make(records, one);
          if (asks[index] === true) agrees(records);
        }
        agrees(records);
      }),
      { numRuns: 150 },
    );
  });

  test('is right after more changes than it remembers', async () => {
    const records = await Records.open(openMemoryStore());
    const put = (network: string) =>
      make(records, {
        put: 'container',
        name: 'c1',
        devices: { eth0: { type: 'nic', network } },
        pool: 'a',
        profiles: [],
        hwaddr: 'a',
      });
    await put('a');
    agrees(records);
    for (let round = 0; round < 2100; round += 1) await put('c');
    await put('b');
    agrees(records);
  });
});

test('a list that was read stays unchanged, and the next one has the changes in order of name', async () => {
  const records = await Records.open(openMemoryStore());
  const put = (profile: string, description: string) =>
    records.commit((changes) => changes.put('profiles', profile, { v: 1, description, config: {}, devices: {} }));
  const shown = () => records.profiles.list().map((entry) => `${entry.name}${entry.document.description}`);
  await put('b', '1');
  await put('d', '1');
  const first = records.profiles.list();
  await put('a', '1');
  await put('c', '1');
  await put('e', '1');
  await put('c', '2');
  await records.commit((changes) => changes.delete('profiles', 'b'));
  expect(shown()).toEqual(['a1', 'c2', 'd1', 'e1']);
  expect(first.map((entry) => entry.name)).toEqual(['b', 'd']);
});
