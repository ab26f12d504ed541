// Queries across all sets: search, timeline, and facts about hosts.
import { expect, test } from 'vitest';
import { search } from '../../../reconciler/controller/decide/search.ts';
import { timelineOf } from '../../../reconciler/controller/decide/timeline.ts';
import { readFacts, warningsOf } from '../../../reconciler/controller/hosts/host-facts.ts';
import type { DriftRecord, Overview, RunRecord } from '../../../reconciler/controller/contract/index.ts';
import { aSet, anObject } from '../../support/controller/fake-controller.ts';
import { openMemoryDaemon } from '../../support/daemons/in-memory.ts';

const overview: Overview = {
  controller: { name: 'main', version: '1', startedAt: '2030-01-31T12:00:00Z', isActive: true },
  sources: [{ name: 'shop', kind: 'git', url: 'https://git.example.org/shop' }],
  hosts: [{ name: 'h1', labels: { zone: 'north' }, status: 'online' }],
  sets: [aSet('web'), aSet('base')],
};

test('a search lists places first, then objects that are not synced, counts all and respects the limit', () => {
  const items = [
    anObject('shop1'),
    anObject('shop2', { status: 'failed', message: 'no address is free' }),
    ...Array.from({ length: 100 }, (_, at) => anObject(`shop-${at}`)),
  ];
  const objects = (set: string) => (set === 'web' ? items : []);
  const { hits, total } = search({ overview, objects }, 'SHOP', 3);
  expect(total).toBe(103);
  expect(hits.map(({ type, name }) => `${type} ${name}`)).toEqual([
    'source shop',
    'object container/shop2',
    'object container/shop1',
  ]);
  expect(search({ overview, objects }, 'address h1', 9).hits).toMatchObject([{ name: 'container/shop2', set: 'web' }]);
  expect(search({ overview, objects }, 'zone=north', 9).hits).toMatchObject([{ type: 'host', name: 'h1' }]);
  expect(search({ overview, objects }, '  ', 9)).toEqual({ hits: [], total: 0 });
});

test('a timeline has runs and drift of all sets or one host, newest first, in pages', () => {
  const run = (at: string, hosts: string[]) => ({ id: at, at, hosts }) as unknown as RunRecord;
  const drift = (at: string, host: string) => ({ id: at, at, host }) as unknown as DriftRecord;
  const sets = [
    { set: 'web', runs: [run('2030-01-01T03:00:00Z', ['h1', 'h2'])], drift: [drift('2030-01-01T01:00:00Z', 'h1')] },
    { set: 'base', runs: [run('2030-01-01T02:00:00Z', ['h2'])], drift: [] },
  ];
  const hours = (query: object): readonly string[] =>
    timelineOf(sets, { limit: 10, ...query }).map(({ at, set }) => `${set} ${at.slice(11, 13)}`);
  expect(hours({})).toEqual(['web 03', 'base 02', 'web 01']);
  expect(hours({ host: 'h1' })).toEqual(['web 03', 'web 01']);
  expect(hours({ before: '2030-01-01T03:00:00Z', limit: 1 })).toEqual(['base 02']);
});

test('a host shows its processors and memory, and unacknowledged warnings, the worst first', async () => {
  const daemon = await openMemoryDaemon();
  try {
    const { capacity } = await readFacts(daemon.client, new AbortController().signal);
    expect(capacity?.cpus).toBeGreaterThan(0);
    expect(capacity?.memoryBytes).toBeGreaterThan(capacity?.memoryUsedBytes ?? Infinity);
  } finally {
    await daemon.close();
  }
  const warning = (severity: string, status: string, entity_url = '') => ({
    uuid: 'u',
    location: 'none',
    project: '',
    type: 't',
    count: 2,
    status,
    severity,
    entity_url,
    first_seen_at: '2030-01-01T00:00:00Z',
    last_seen_at: '2030-01-02T00:00:00Z',
    last_message: severity,
  });
  const all = [warning('low', 'new'), warning('high', 'new', '/1.0/containers/c1'), warning('high', 'acknowledged')];
  expect(warningsOf(all)).toEqual([
    { severity: 'high', message: 'high', about: '/1.0/containers/c1', count: 2, lastSeenAt: '2030-01-02T00:00:00Z' },
    { severity: 'low', message: 'low', count: 2, lastSeenAt: '2030-01-02T00:00:00Z' },
  ]);
});
