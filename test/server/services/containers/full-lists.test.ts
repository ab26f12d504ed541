// Lists of containers with their state: long ones are made in parts, and a container that is deleted meanwhile fails none.
import { expect, test } from 'vitest';
import type { ContainerDocument } from '../../../../server/records/documents.ts';
import { Records } from '../../../../server/records/records.ts';
import type { RuntimeDriver } from '../../../../server/drivers/runtime/driver.ts';
import { ContainerReader } from '../../../../server/services/containers/reader.ts';
import { ContainerView } from '../../../../server/services/shared/container-view.ts';
import { LongList } from '../../../../server/lib/shared/long-list.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';

const document = {
  v: 1,
  architecture: 'x86_64',
  profiles: [],
  config: {},
  devices: { root: { type: 'disk', path: '/', pool: 'p' } },
} as unknown as ContainerDocument;

async function openReader(count: number) {
  const records = await Records.open(openMemoryStore());
  const names = Array.from({ length: count }, (_, index) => `c${String(index).padStart(4, '0')}`);
  for (let at = 0; at < count; at += 100)
    await records.commit((changes) =>
      names.slice(at, at + 100).forEach((name) => changes.put('containers', name, { ...document, uuid: name })),
    );
  const runtime = { probe: () => ({ status: 'stopped' }) } as unknown as RuntimeDriver;
  // As on cephfs: what is gone has no attributes to read.
  const rootUse = async (_pool: string, name: string): Promise<number> => {
    if (name === 'c0001') await records.commit((changes) => changes.delete('containers', 'c0001'));
    if (name === 'c0001') throw new Error('there is no c0001');
    return 5;
  };
  const view = new ContainerView({ records, runtime, rootUse });
  return { names, view, reader: new ContainerReader({ records, view }) };
}

test('A container that is deleted while a list is made has no state there', async () => {
  const { reader, names } = await openReader(3);
  const list = await reader.listFull('default');
  expect(list).toMatchObject(
    names.map((name) => ({ name, state: name === 'c0001' ? null : { disk: { root: { usage: 5 } } } })),
  );
});

test('Long lists are made in parts, with the same members', async () => {
  const { reader, view, names } = await openReader(2_001);
  const lists = [await reader.listFull(undefined), view.renderAll('default')];
  for (const list of lists) expect(list).toBeInstanceOf(LongList);
  const [full, plain] = await Promise.all(lists.map((list) => (list as LongList<{ readonly name: string }>).whole()));
  expect(full?.map(({ name }) => name)).toEqual(names);
  expect(plain?.map(({ name }) => name)).toEqual(names);
});
