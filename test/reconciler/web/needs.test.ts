// The tasks for people in the overview, and their order.
import { expect, test } from 'vitest';
import type { Overview, SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { headline, undeclaredText } from '../../../reconciler/web/views/overview/headline.ts';
import { needsOf } from '../../../reconciler/web/views/overview/needs.ts';
import { aSet } from '../../support/controller/fake-controller.ts';

const objects = { total: 3, synced: 3, drifted: 0, failed: 0 };
const well = (name: string, more: Partial<SetStatus> = {}): SetStatus =>
  aSet(name, { hosts: [{ host: 'h1', status: 'synced', objects }], ...more });
const world = (more: Partial<Overview>): Overview => ({
  controller: { name: 'main', version: '1', startedAt: '2030-01-31T12:00:00Z', isActive: true },
  sources: [],
  hosts: [{ name: 'h1', labels: {}, status: 'online' }],
  sets: [well('web')],
  ...more,
});
const suspension = { id: 's', set: 'web', reason: 'a pause', by: 'ann', since: '2030-01-31T12:00:00Z' };
const drifted = [{ host: 'h1', status: 'drifted', objects: { ...objects, synced: 1, drifted: 2 } }] as const;

test('healthy and self-healing sets and expiring suspensions need no person', () => {
  const sets = [
    well('web'),
    well('healing', { status: 'drifted', hosts: drifted }),
    well('paused', { status: 'suspended', suspensions: [{ ...suspension, until: '2031-01-01T00:00:00Z' }] }),
    well('unseen', { status: 'unknown', hosts: [{ host: 'h2', status: 'unknown', objects }] }),
  ];
  const low = { severity: 'low', message: 'to know', count: 1, lastSeenAt: '2030-01-31T12:00:00Z' };
  const hosts = [{ name: 'h2', labels: {}, status: 'unknown', warnings: [low] }] as const;
  expect(needsOf(world({ sets, hosts }))).toEqual([]);
});

test('approvals come first, then failures, hosts, sources, warnings, drift that is kept, and suspensions without an end', () => {
  const sets = [
    well('paused', { suspensions: [suspension, { ...suspension, id: 't', address: 'container/a' }] }),
    well('watched', { mode: 'report', hosts: drifted }),
    well('refused', { problems: ['web.yaml:1:1: unknown key', 'another'] }),
    well('broken', {
      status: 'failed',
      hosts: [
        { host: 'h1', status: 'failed', error: 'no address is free', objects },
        { host: 'h2', status: 'failed', error: 'no address is free', objects },
      ],
    }),
    well('planned', {
      approvalGate: { revision: 'c0ffee', plan: 'p', hosts: [{ host: 'h1', count: 1, steps: ['container/a#delete'] }] },
    }),
    well('pruned', { pruneGate: { revision: 'c0ffee', hosts: [{ host: 'h1', count: 60, objects: [] }] } }),
  ];
  const warning = { severity: 'high', message: 'the pool is full', count: 1, lastSeenAt: '2030-01-31T12:00:00Z' };
  const hosts = [
    { name: 'h1', labels: {}, status: 'online', warnings: [warning] },
    { name: 'h2', labels: {}, status: 'offline', message: 'connection refused' },
  ] as const;
  const sources = [{ name: 'main', kind: 'git', url: 'u', error: '503' }] as const;
  const needs = needsOf(world({ sets, hosts, sources }));
  expect(needs.map(({ tone, word, what, why }) => [tone, word, what, why])).toEqual([
    ['waiting', 'approve', 'planned', 'its plan has 1 step that a second person approves'],
    [
      'waiting',
      'approve',
      'pruned',
      '60 objects would be deleted, more than its limit: approve that, or declare them again',
    ],
    ['failed', 'failed', 'broken', '2 hosts, first h1: no address is free'],
    ['drifted', 'refused', 'refused', 'its newest manifests are not applied: web.yaml:1:1: unknown key and 1 more'],
    ['failed', 'offline', 'h2', 'connection refused'],
    ['drifted', 'source', 'main', '503'],
    ['drifted', 'warning', 'h1', 'the pool is full: repair it, or acknowledge it on the host'],
    [
      'drifted',
      'drift kept',
      'watched',
      '2 objects differ, and the set only reports: sync it, or change its manifests',
    ],
    ['suspended', 'suspended', 'paused', 'a pause, by ann, until somebody resumes it, and 1 more'],
  ]);
});

test('nothing is called as declared while a host does not answer', () => {
  const [synced, offline] = [[well('web', { status: 'synced' })], { name: 'h1', status: 'offline' } as const];
  expect(headline(synced, [offline])).toBe('1 host does not answer');
  expect(headline(synced, [offline, offline])).toBe('2 hosts do not answer');
  expect(headline(synced, [{ ...offline, status: 'online' }])).toBe('Everything is as declared');
});

test('objects that no manifest declares are counted apart from differences', () => {
  const onHost = (status: 'synced' | 'unknown', counts: object): SetStatus =>
    well('web', { status, hosts: [{ host: 'h1', status, objects: { ...objects, ...counts } }] });
  expect(headline([onHost('synced', { undeclared: 1510 })], [])).toBe('Everything is as declared');
  expect(headline([onHost('synced', { total: 5, undeclared: 1510 })], [])).toBe('2 objects are not as declared');
  expect(headline([onHost('unknown', { total: 0, synced: 0, undeclared: 1510 })], [])).toBe(
    'Nothing is declared for this host',
  );
  expect(undeclaredText({ undeclared: 1510 })).toBe('1,510 not declared by a manifest');
});

test('the page of one host names gantry apply, since it cannot sync', () => {
  const [need] = needsOf(world({ sets: [well('default', { source: '', mode: 'report', hosts: drifted })] }));
  expect(need?.why).toBe('2 objects differ from the manifests: gantry apply makes it so, or change the manifests');
});
