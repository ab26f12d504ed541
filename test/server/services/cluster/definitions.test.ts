// Definitions of pools and networks of a cluster: a creation under way, and one that an earlier daemon left.
import { expect, test } from 'vitest';
import { Members } from '../../../../server/membership/members.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import type { DefinitionDocument } from '../../../../server/records/cluster-documents.ts';
import { Records } from '../../../../server/records/records.ts';
import { Definitions } from '../../../../server/services/cluster/definitions.ts';
import type { Part } from '../../../../server/services/cluster/definition-parts.ts';
import { poolKeys } from '../../../../server/services/shared/member-keys.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { memberRecord } from '../../../support/fakes/records.ts';

const member = memberRecord(1);
const pool = { name: 'fast', type: 'dir', config: {}, description: '', overrides: {} };
const left: DefinitionDocument = {
  v: 1,
  type: 'dir',
  description: '',
  config: {},
  overrides: {},
  state: 'creating',
  by: 1,
};

/** One member whose pools are in a map; `create` waits for `mayEnd`. */
async function world(mayEnd: Promise<void>) {
  const records = await Records.open(openMemoryStore(), 1);
  await records.commit((changes) => changes.put('members', 'one', member));
  const pools = new Map<string, Part & { readonly isReady: boolean }>();
  const removed: string[] = [];
  let begun = (): void => {};
  const isBegun = new Promise<void>((resolve) => (begun = resolve));
  const definitions = new Definitions({
    records,
    members: new Members(records),
    log: silentLog,
    on: {
      what: 'storage pool',
      kind: 'poolDefinitions',
      keys: poolKeys,
      here: (name) => pools.get(name),
      of: () => undefined,
      async create(_member, name, _type, part) {
        pools.set(name, { ...part, isReady: false });
        begun();
        await mayEnd;
        pools.set(name, { ...part, isReady: true });
      },
      change: () => Promise.resolve(),
      async remove(_member, name) {
        pools.delete(name);
        removed.push(name);
      },
      users: () => [],
    },
  });
  return { records, definitions, pools, removed, isBegun };
}

test('realising the definitions leaves a running creation alone, and its name is taken', async () => {
  let end = (): void => {};
  const { definitions, pools, removed, isBegun } = await world(new Promise((resolve) => (end = resolve)));
  const creating = definitions.create(pool);
  await isBegun;
  await definitions.realise();
  await expect(definitions.create(pool)).rejects.toMatchObject({ code: 'exists' });
  end();
  await creating;
  expect(definitions.get('fast')).toMatchObject({ state: 'created' });
  expect([removed, pools.get('fast')?.isReady]).toEqual([[], true]);
});

test('an unfinished creation of an earlier daemon of this member is undone', async () => {
  const { records, definitions, pools, removed } = await world(Promise.resolve());
  pools.set('fast', { config: {}, description: '', isReady: true });
  await records.commit((changes) => changes.put('poolDefinitions', 'fast', left));
  await definitions.realise();
  expect([definitions.get('fast'), removed]).toEqual([undefined, ['fast']]);
});

test('an unfinished creation of an earlier daemon leaves what was defined for single members before it', async () => {
  const { records, definitions, isBegun } = await world(new Promise(() => {}));
  const here = new Members(records).get('one');
  if (here === undefined) throw new Error('there is no member');
  await definitions.define(here, { ...pool, config: { source: '/dev/sdb' } });
  void definitions.create(pool);
  await isBegun;
  const next = await world(Promise.resolve());
  const begun = records.poolDefinitions.get('fast')?.document;
  if (begun === undefined) throw new Error('the creation has not begun');
  await next.records.commit((changes) => changes.put('poolDefinitions', 'fast', begun));
  await next.definitions.realise();
  expect(next.definitions.get('fast')).toMatchObject({ state: 'pending', overrides: { 1: { source: '/dev/sdb' } } });
});

test('a creation that fails keeps what was defined for single members before it, and no others', async () => {
  const { records, definitions } = await world(Promise.reject(new Error('no such disk')));
  const here = new Members(records).get('one');
  if (here === undefined) throw new Error('there is no member');
  await definitions.define(here, { ...pool, config: { source: '/dev/sdb' } });
  await expect(definitions.create(pool)).rejects.toThrow('no such disk');
  await expect(definitions.create({ ...pool, config: { source: '/dev/sdc' } })).rejects.toThrow(
    'config.source: is a value of each member: send it with target',
  );
  expect(definitions.get('fast')).toMatchObject({ state: 'pending', overrides: { 1: { source: '/dev/sdb' } } });
  await expect(definitions.create({ ...pool, name: 'other' })).rejects.toThrow('no such disk');
  expect(definitions.get('other')).toBeUndefined();
});
