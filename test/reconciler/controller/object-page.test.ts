// Pages of objects: their order, and objects that go between two pages.
import { expect, test } from 'vitest';
import type { ObjectPage, ObjectStatusName, ObjectSummary } from '../../../reconciler/controller/contract/index.ts';
import { pageOf } from '../../../reconciler/controller/sets/object-page.ts';

function hostWith(name: string, addresses: readonly string[], status: ObjectStatusName = 'synced') {
  const summary = (address: string): ObjectSummary => {
    const [kind = '', plain = ''] = address.split('/');
    return { host: name, address, kind, name: plain, status, dependsOn: [] };
  };
  return { name, objects: new Map(addresses.map((address) => [address, summary(address)])) };
}
const shown = ({ objects }: ObjectPage): readonly string[] => objects.map(({ host, address }) => `${host} ${address}`);

test('objects come by host, then by address, on as many pages as they need', () => {
  const hosts = [hostWith('h2', ['profile/a', 'container/b']), hostWith('h1', ['profile/c', 'network/d'])];
  const first = pageOf(hosts, { limit: 3 });
  expect([shown(first), first.total]).toEqual([['h1 network/d', 'h1 profile/c', 'h2 container/b'], 4]);
  const last = pageOf(hosts, { limit: 3, ...(first.next === undefined ? {} : { after: first.next }) });
  expect([shown(last), last.total, last.next]).toEqual([['h2 profile/a'], 4, undefined]);
});

test('a page follows an object that is gone, or has another status now', () => {
  const after = 'h1 container/b';
  expect(shown(pageOf([hostWith('h1', ['container/a', 'container/c'])], { after }))).toEqual(['h1 container/c']);
  expect(shown(pageOf([hostWith('h2', ['container/a'])], { after }))).toEqual(['h2 container/a']);
  const mixed = [hostWith('h1', ['container/b']), hostWith('h2', ['container/a'], 'failed')];
  expect(shown(pageOf(mixed, { after, status: 'failed' }))).toEqual(['h2 container/a']);
});

test('the filters count alone', () => {
  const hosts = [hostWith('h1', ['container/a', 'container/b']), hostWith('h2', ['container/c'], 'failed')];
  expect(pageOf(hosts, { status: 'failed' })).toMatchObject({ total: 1 });
  expect(pageOf(hosts, { host: 'h1', limit: 2 })).toMatchObject({ total: 2 });
  expect(pageOf(hosts, { host: 'h1', limit: 2 }).next).toBeUndefined();
});
