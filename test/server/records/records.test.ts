// Records over a store: conflicts, retries, guards for references of concurrent transactions. And the related pure rules of services.
import { describe, expect, test } from 'vitest';
import type { ContainerDocument, ProfileDocument } from '../../../server/records/documents.ts';
import { RecordConflict, Records } from '../../../server/records/records.ts';
import { checkIfMatch, etagOf } from '../../../server/services/shared/etag.ts';
import { expand, isServerKey, nicNetwork, nicNetworks } from '../../../server/services/shared/expand.ts';
import { mergeConfig, mergeDevices, replaceConfig } from '../../../server/services/shared/patch.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';

const profile = (description = ''): ProfileDocument => ({ v: 1, description, config: {}, devices: {} });
const open = async (): Promise<Records> => Records.open(openMemoryStore());

describe('records', () => {
  test('are visible once acknowledged, in order of name, and read again by the next opening', async () => {
    const store = openMemoryStore();
    const records = await Records.open(store);
    await records.commit((changes) => {
      changes.put('profiles', 'b', profile('two'));
      changes.put('profiles', 'a', profile('one'));
    });
    expect(records.profiles.list().map((entry) => [entry.name, entry.document.description])).toEqual([
      ['a', 'one'],
      ['b', 'two'],
    ]);
    const again = await Records.open(store);
    expect(again.profiles.get('b')?.document).toEqual(profile('two'));
  });

  test('one of two writers on one version gets a conflict, and sees the other’s write afterwards', async () => {
    const records = await open();
    await records.commit((changes) => changes.put('profiles', 'a', profile('0')));
    const outcomes = await Promise.allSettled(
      ['1', '2'].map((text) => records.commit((changes) => changes.put('profiles', 'a', profile(text)))),
    );
    expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    expect(failed?.reason).toBeInstanceOf(RecordConflict);
    const won = outcomes[0]?.status === 'fulfilled' ? '1' : '2';
    expect(records.profiles.get('a')?.document.description).toBe(won);
  });

  test('retry decides again on the result of the other writer, so that no change is lost', async () => {
    const records = await open();
    await records.commit((changes) => changes.put('profiles', 'a', profile('')));
    await Promise.all(
      Array.from({ length: 10 }, () =>
        records.retry((changes) => {
          const now = records.profiles.get('a')?.document.description ?? '';
          changes.put('profiles', 'a', profile(`${now}x`));
        }),
      ),
    );
    expect(records.profiles.get('a')?.document.description).toBe('x'.repeat(10));
  });

  test('retry rethrows other errors at once and writes nothing', async () => {
    const records = await open();
    let calls = 0;
    const failing = records.retry((changes) => {
      calls += 1;
      changes.put('profiles', 'a', profile());
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect([calls, records.profiles.size]).toEqual([1, 0]);
  });

  test('a record that a running transaction requires can be neither deleted nor claimed', async () => {
    const records = await open();
    await records.commit((changes) => changes.put('profiles', 'a', profile()));
    for (const take of ['delete', 'claim'] as const) {
      const using = records.commit((changes) => {
        changes.require('profiles', 'a');
        changes.put('profiles', `user-${take}`, profile());
      });
      const taking = records.commit((changes) => {
        changes[take]('profiles', 'a');
        changes.put('profiles', `taker-${take}`, profile());
      });
      await expect(taking).rejects.toBeInstanceOf(RecordConflict);
      await using;
      expect([records.profiles.has(`user-${take}`), records.profiles.has(`taker-${take}`)]).toEqual([true, false]);
    }
    await records.commit((changes) => changes.delete('profiles', 'a'));
    expect(records.profiles.has('a')).toBe(false);
  });

  test('a running deletion makes transactions that require the record decide again', async () => {
    const records = await open();
    await records.commit((changes) => changes.put('profiles', 'a', profile()));
    const deleting = records.commit((changes) => changes.delete('profiles', 'a'));
    const using = records.retry((changes) => {
      if (!records.profiles.has('a')) throw new Error('gone');
      changes.require('profiles', 'a');
      changes.put('profiles', 'user', profile());
    });
    await expect(using).rejects.toThrow('gone');
    await deleting;
    expect(records.profiles.size).toBe(0);
  });

  test('records of a newer release, or damaged, are refused by name', async () => {
    for (const text of ['{"v":99}', '{}', 'not json']) {
      const store = openMemoryStore();
      await store.txn([], [{ put: '/profiles/odd', value: new TextEncoder().encode(text) }]);
      await expect(Records.open(store)).rejects.toThrow(/\/profiles\/odd/);
    }
  });
});

describe('expansion', () => {
  const profiles: Record<string, ProfileDocument> = {
    a: { ...profile(), config: { k: 'a', x: 'a' }, devices: { eth0: { type: 'nic', mtu: '1' }, d: { type: 'disk' } } },
    b: { ...profile(), config: { k: 'b' }, devices: { eth0: { type: 'nic' } } },
  };
  const of = (names: readonly string[], config = {}, devices = {}) =>
    expand({ profiles: names, config, devices }, (name) => profiles[name]);

  test('later profiles win by key and by whole device, the container’s own settings last, unknown profiles add nothing', () => {
    expect(of(['a', 'gone', 'b'], { x: 'own' })).toEqual({
      config: { k: 'b', x: 'own' },
      devices: { eth0: { type: 'nic' }, d: { type: 'disk' } },
    });
    expect(of(['b', 'a']).config).toEqual({ k: 'a', x: 'a' });
    expect(of([], {}, { eth0: { type: 'none' } })).toEqual({ config: {}, devices: { eth0: { type: 'none' } } });
    expect(of(['a'], {}, { eth0: { type: 'none' } }).devices['eth0']).toEqual({ type: 'none' });
  });

  test('a nic uses its parent, or the VLAN on it', () => {
    expect(nicNetwork({ type: 'nic', parent: 'br0' })).toBe('br0');
    expect(nicNetwork({ type: 'nic', parent: 'eth0', vlan: '7' })).toBe('eth0.7');
    expect(nicNetwork({ type: 'nic', nictype: 'p2p' })).toBeUndefined();
    expect(nicNetwork({ type: 'disk', parent: 'br0' })).toBeUndefined();
    expect(
      nicNetworks({ a: { type: 'nic', parent: 'x' }, b: { type: 'nic', parent: 'x' }, c: { type: 'none' } }),
    ).toEqual(['x']);
  });

  test('volatile and image keys belong to the server', () => {
    expect(['volatile.a', 'image.os', 'user.volatile.', 'images.x'].map(isServerKey)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe('PUT and PATCH of maps', () => {
  test('an empty value equals an absent one', () => {
    expect(replaceConfig({ a: '1', b: '' })).toEqual({ a: '1' });
    expect(replaceConfig(null)).toEqual({});
    expect(mergeConfig({ a: '1', b: '2' }, { a: '', c: '3' })).toEqual({ b: '2', c: '3' });
    expect(mergeConfig({ a: '1' }, undefined)).toEqual({ a: '1' });
  });

  test('an unknown key without a value stays for the check, unless it is stored', () => {
    const find = (key: string): unknown => (key === 'a' ? {} : undefined);
    expect(replaceConfig({ a: '', b: '', c: '' }, find, { c: '1' })).toEqual({ b: '' });
    expect(mergeConfig({ c: '1' }, { a: '', b: '', c: '' }, find)).toEqual({ b: '' });
  });

  test('devices are replaced as a whole, and removed by an empty map', () => {
    const now = { a: { type: 'nic', mtu: '1' }, b: { type: 'none' } };
    expect(mergeDevices(now, { a: { type: 'nic' }, b: {} })).toEqual({ a: { type: 'nic' } });
    expect(mergeDevices(now, null)).toEqual(now);
  });
});

describe('ETags', () => {
  const container = {
    architecture: 'x86_64',
    profiles: ['default'],
    ephemeral: false,
    config: { a: '1' },
    devices: {},
    description: '',
  } as unknown as ContainerDocument;
  const tag = (change: object): string => etagOf.container({ ...container, ...change });

  test('do not depend on the order of keys, or on server-kept keys', () => {
    expect(tag({ config: { a: '1', b: '2' } })).toBe(tag({ config: { b: '2', a: '1' } }));
    expect(
      tag({ config: { a: '1', 'volatile.x': '1', 'image.os': 'y' }, lastUsedAt: 'now', lifecycle: 'deleting' }),
    ).toBe(tag({}));
  });

  test.each([
    { config: {} },
    { devices: { a: {} } },
    { ephemeral: true },
    { profiles: [] },
    { description: 'x' },
    { architecture: 'i686' },
  ])('change with %j', (change) => {
    expect(tag(change)).not.toBe(tag({}));
  });

  test('are accepted bare, quoted, weak, in lists and as a star; absent and empty means no condition', () => {
    for (const header of [undefined, '', ' ', '*', 'abc', '"abc"', 'W/"abc"', '"x", "abc"', 'x,abc']) {
      expect(() => checkIfMatch(header, 'abc', 'profile', 'p')).not.toThrow();
    }
    for (const header of ['abd', '"ab"', 'abcd', '"*"x'])
      expect(() => checkIfMatch(header, 'abc', 'profile', 'p')).toThrow(/no longer matches/);
  });
});
