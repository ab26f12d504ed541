// The decisions of the controller: windows, drift rules, batches, backoff, verdicts, dependencies between sets, shared documents.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseSchedule } from '../../../server/api/container/snapshot-schedule.ts';
import type { SetConfig, Window } from '../../../reconciler/controller/config/config.ts';
import type { ObjectSummary } from '../../../reconciler/controller/contract/index.ts';
import { DriftRules } from '../../../reconciler/controller/decide/drift-rules.ts';
import { verdictOn, type HostFacts } from '../../../reconciler/controller/decide/host-verdict.ts';
import { changedObjects } from '../../../reconciler/controller/decide/object-status.ts';
import { retryPauseMs } from '../../../reconciler/controller/decide/retry.ts';
import { batchesOf, batchVerdict } from '../../../reconciler/controller/decide/rollout.ts';
import { dependentsOf, whyHostWaits } from '../../../reconciler/controller/decide/set-dependencies.ts';
import { opensInMs } from '../../../reconciler/controller/decide/windows.ts';
import { loadRevision } from '../../../reconciler/controller/sets/load-revision.ts';
import { endsInMs, ofHost, ofObject } from '../../../reconciler/controller/decide/suspensions.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const hourMs = 3_600_000;

function window(cron: string, hours: number, timezone = 'UTC'): Window {
  const schedule = parseSchedule(cron);
  if (typeof schedule === 'string') throw new Error(schedule);
  return { schedule, durationMs: hours * hourMs, timezone };
}
const at = (text: string): number => Date.parse(text);

describe('windows', () => {
  test('changes are always allowed without windows', () => {
    expect(opensInMs({ allow: [], deny: [] }, at('2026-05-04T12:00:00Z'))).toBe(0);
  });

  test('an allowed window is open from its start for its length, also over midnight', () => {
    const windows = { allow: [window('0 22 * * *', 8)], deny: [] };
    expect(opensInMs(windows, at('2026-05-04T21:59:00Z'))).toBe(60_000);
    expect(opensInMs(windows, at('2026-05-04T22:00:00Z'))).toBe(0);
    expect(opensInMs(windows, at('2026-05-05T05:59:59Z'))).toBe(0);
    expect(opensInMs(windows, at('2026-05-05T06:00:00Z'))).toBe(16 * hourMs);
  });

  test('a denied window closes an allowed one, and alone closes only itself', () => {
    const deny = [window('0 12 * * *', 1)];
    expect(opensInMs({ allow: [], deny }, at('2026-05-04T12:30:00Z'))).toBe(hourMs / 2);
    expect(opensInMs({ allow: [], deny }, at('2026-05-04T13:00:00Z'))).toBe(0);
    const both = { allow: [window('0 11 * * *', 3)], deny };
    expect(opensInMs(both, at('2026-05-04T11:30:00Z'))).toBe(0);
    expect(opensInMs(both, at('2026-05-04T12:15:00Z'))).toBe(0.75 * hourMs);
  });

  test('time zones count, with their summer time', () => {
    const windows = { allow: [window('0 22 * * *', 1, 'Europe/Berlin')], deny: [] };
    expect(opensInMs(windows, at('2026-07-01T20:30:00Z'))).toBe(0);
    expect(opensInMs(windows, at('2026-01-01T20:30:00Z'))).toBe(hourMs / 2);
    expect(opensInMs(windows, at('2026-01-01T21:30:00Z'))).toBe(0);
  });

  test('a window that begins in the hour that a clock set forward leaves out begins then', () => {
    const deny = [window('30 2 * * *', 4, 'Europe/Berlin')];
    expect(opensInMs({ allow: [], deny }, at('2026-03-29T00:59:00Z'))).toBe(0);
    expect(opensInMs({ allow: [], deny }, at('2026-03-29T01:00:00Z'))).toBe(4 * hourMs);
    expect(opensInMs({ allow: [], deny }, at('2026-03-29T02:00:00Z'))).toBe(3 * hourMs);
  });

  test('a clock that is set between two hours of UTC is set then', () => {
    const windows = { allow: [window('0 3 * * *', 1, 'Australia/Adelaide')], deny: [] };
    expect(opensInMs(windows, at('2026-04-04T16:00:00Z'))).toBe(1.5 * hourMs);
  });

  test('a window in the hour that a clock set back repeats opens twice, also a denied one', () => {
    const night = [window('30 2 * * *', 0.5, 'Europe/Berlin')];
    const minutes = ['00:30', '01:00', '01:30', '02:00'].map((time) => at(`2026-10-25T${time}:00Z`));
    const isOpenAt = (windows: Parameters<typeof opensInMs>[0]) => minutes.map((ms) => opensInMs(windows, ms) === 0);
    expect(isOpenAt({ allow: night, deny: [] })).toEqual([true, false, true, false]);
    expect(isOpenAt({ allow: [], deny: night })).toEqual([false, true, false, true]);
  });

  test('a window that does not open within a month is far away', () => {
    expect(opensInMs({ allow: [window('0 0 29 2 *', 1)], deny: [] }, at('2026-05-04T12:00:00Z'))).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});

describe('drift rules', () => {
  const host = { name: 'h1', labels: { rack: 'r1' }, groups: [] };
  const rules = new DriftRules('heal', [
    { path: 'config.limits.*', action: 'report' },
    { address: 'container/db*', action: 'ignore' },
    { address: 'container/db1', path: 'state', action: 'heal' },
    { hosts: { by: 'name', name: 'h2' }, action: 'report' },
  ]);

  test('the last matching rule applies, else the mode of the set', () => {
    expect(rules.actionFor(host, 'container/web', 'config.user.a')).toBe('heal');
    expect(rules.actionFor(host, 'container/web', 'config.limits.memory')).toBe('report');
    expect(rules.actionFor(host, 'container/db2', 'config.limits.memory')).toBe('ignore');
    expect(rules.actionFor(host, 'container/db1', 'state')).toBe('heal');
  });

  test('a rule for an object does not apply to one whose name goes on after a dot', () => {
    const own = new DriftRules('heal', [{ address: 'profile/web', action: 'ignore' }]);
    expect(own.actionFor(host, 'profile/web', 'config.user.a')).toBe('ignore');
    expect(own.actionFor(host, 'profile/web.prod', 'config.user.a')).toBe('heal');
  });

  test('a rule for hosts applies only to them', () => {
    expect(rules.actionFor({ ...host, name: 'h2' }, 'container/web', 'config.user.a')).toBe('report');
  });
});

describe('rollouts', () => {
  const hosts = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, isAway: false }));
  const batches = (...order: Parameters<typeof batchesOf<(typeof hosts)[number]>>): readonly (readonly string[])[] =>
    batchesOf(...order).map((batch) => batch.map(({ name }) => name));

  test('canaries go first, then batches of a number or a share', () => {
    expect(batches({ size: { count: 2 }, canary: 1 }, hosts)).toEqual([['a'], ['b', 'c'], ['d', 'e']]);
    expect(batches({ size: { percent: 50 }, canary: 0 }, hosts)).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
    expect(batches({ size: { percent: 100 }, canary: 0 }, hosts)).toEqual([['a', 'b', 'c', 'd', 'e']]);
  });

  test('hosts that are away come last, so that the canary is one that answers', () => {
    const found = hosts.map((host) => ({ ...host, isAway: ['a', 'c'].includes(host.name) }));
    expect(batches({ size: { count: 2 }, canary: 1 }, found)).toEqual([['b'], ['d', 'e'], ['a', 'c']]);
  });

  test('the next batch waits for every reachable host, and stops after failures', () => {
    const host = (word: 'synced' | 'failed' | 'away' | 'busy') => ({
      isSynced: word === 'synced',
      isFailed: word === 'failed',
      isAway: word === 'away',
    });
    expect(batchVerdict([host('synced'), host('busy')], 1)).toBe('wait');
    expect(batchVerdict([host('synced'), host('away')], 1)).toBe('go');
    expect(batchVerdict([host('failed'), host('busy')], 1)).toBe('halt');
    expect(batchVerdict([host('failed'), host('synced')], 2)).toBe('go');
  });
});

test('pauses between attempts double up to the longest, with jitter down to a half', () => {
  const times = { firstMs: 1000, longestMs: 8000 };
  expect([1, 2, 3, 4, 5, 60].map((failures) => retryPauseMs(times, failures, 1))).toEqual([
    1000, 2000, 4000, 8000, 8000, 8000,
  ]);
  expect(retryPauseMs(times, 2, 0)).toBe(1000);
});

describe('verdicts', () => {
  const free: HostFacts = {
    suspended: undefined,
    steps: 2,
    refusals: [],
    errors: [],
    allowsPartial: false,
    waitsForWindow: false,
    waitsForOther: false,
    awaitsApproval: undefined,
    hasReportedDrift: false,
    calmMs: 0,
    closedMs: () => 0,
    waitsFor: () => undefined,
    retryMs: 0,
    lastError: undefined,
  };
  const verdict = (part: Partial<HostFacts>) => verdictOn({ ...free, ...part });

  test('unhindered changes are made; without changes the host is synced, or drifted if drift is only reported', () => {
    expect(verdict({})).toEqual({ kind: 'apply' });
    expect(verdict({ steps: 0 })).toEqual({ kind: 'settled', status: 'synced' });
    expect(verdict({ steps: 0, hasReportedDrift: true })).toEqual({ kind: 'settled', status: 'drifted' });
  });

  test('a suspension takes precedence over everything else', () => {
    const expected = { kind: 'suspended', status: 'suspended', why: 'moving house' };
    const suspended = { why: 'moving house', isAway: false };
    expect(verdict({ suspended, refusals: ['too much'], closedMs: () => 5 })).toEqual(expected);
    expect(verdict({ suspended: { ...suspended, isAway: true } })).toEqual({ ...expected, isAway: true });
  });

  test('a refused part stops the plan unless partial plans are allowed; the rest of a partial plan is made', () => {
    const refused = { kind: 'refused', status: 'failed', why: 'Refused: one; two; three' };
    expect(verdict({ refusals: ['one', 'two', 'three', 'four'] })).toEqual(refused);
    expect(verdict({ refusals: ['one'], allowsPartial: true })).toEqual({ kind: 'apply' });
    expect(verdict({ refusals: ['one'], allowsPartial: true, steps: 0 })).toMatchObject({ kind: 'refused' });
  });

  test('disruptive changes wait for their window, which is noted when one opens within a month', () => {
    const calm = { refusals: ['web restarts'], waitsForWindow: true };
    const why = 'Waits for a window for disruptive changes: web restarts';
    expect(verdict({ ...calm, calmMs: hourMs })).toEqual({
      kind: 'refused',
      status: 'waiting',
      why,
      opensInMs: hourMs,
    });
    expect(verdict({ ...calm, calmMs: Infinity })).toEqual({ kind: 'refused', status: 'waiting', why });
  });

  test('changes wait for a window, then for other sets, then for the pause after a failure', () => {
    const closed = { kind: 'hindered', status: 'waiting', why: 'No window for changes is open.' };
    const stops = {
      waitsFor: () => ({ why: 'It waits for base.', isAway: false }),
      retryMs: 10,
      lastError: 'no space',
    };
    expect(verdict({ ...stops, closedMs: () => hourMs })).toEqual({ ...closed, opensInMs: hourMs });
    expect(verdict({ ...stops, closedMs: () => Infinity })).toEqual(closed);
    expect(verdict(stops)).toEqual({ kind: 'hindered', status: 'waiting', why: 'It waits for base.' });
    expect(verdict({ retryMs: 10, lastError: 'no space' })).toMatchObject({ status: 'failed', why: 'no space' });
    expect(verdict({ retryMs: -10, lastError: 'no space' })).toEqual({ kind: 'apply' });
  });
});

describe('a set that depends on sets', () => {
  /** Hosts with their synced revision; undefined: not synced. */
  const set = (name: string, dependsOn: readonly string[], synced: Readonly<Record<string, string | undefined>>) => ({
    config: { name, dependsOn, source: 'shop' },
    isHeld: false,
    hosts: Object.entries(synced).map(([host, revision]) => ({
      name: host,
      isAway: host === 'h9',
      has: (wanted: string | undefined) => revision !== undefined && (wanted === undefined || wanted === revision),
    })),
  });
  const on = (name: string, isNewest = false) => ({ name, revision: 'two', isNewest });

  test('waits for their same host, or for all their hosts where they are not on it', () => {
    const web = set('web', ['base', 'store'], { h1: undefined, h2: undefined });
    const all = [set('base', [], { h1: 'one', h2: undefined }), set('store', [], { h3: 'one', h4: undefined }), web];
    const sets = new Map(all.map((one) => [one.config.name, one]));
    const why = 'It waits until store is synced.';
    expect(whyHostWaits(web.config, on('h1'), sets)).toEqual({ why, isAway: false });
    expect(whyHostWaits(web.config, on('h2'), sets)?.why).toBe('It waits until base is synced and store is synced.');
    expect(whyHostWaits({ dependsOn: ['missing'], source: 'shop' }, on('h1'), sets)).toBeUndefined();
    expect(dependentsOf('base', sets.values())).toEqual([web]);
  });

  test('waits for the newest revision of the same source, unless a rollback holds the other set', () => {
    const base = set('base', [], { h1: 'one', h2: 'two', h9: undefined });
    const web = set('web', ['base'], { h1: undefined });
    const sets = new Map([['base', base]]);
    const why = 'It waits until base has revision two.';
    expect(whyHostWaits(web.config, on('h1', true), sets)).toEqual({ why, isAway: false });
    expect(whyHostWaits(web.config, on('h2', true), sets)).toBeUndefined();
    expect(whyHostWaits(web.config, on('h1'), sets)).toBeUndefined();
    expect(whyHostWaits({ ...web.config, source: 'other' }, on('h1', true), sets)).toBeUndefined();
    expect(whyHostWaits(web.config, on('h9', true), sets)?.isAway).toBe(true);
    expect(whyHostWaits(web.config, on('h1', true), new Map([['base', { ...base, isHeld: true }]]))).toBeUndefined();
  });
});

describe('suspensions', () => {
  const base = { set: 'web', reason: 'test', by: 'ann', since: '2026-05-04T12:00:00Z' };

  test('count for their host and object; a star stands for any text', () => {
    const object = { ...base, id: '1', address: 'container/web*', host: 'h1' };
    const whole = { ...base, id: '2', host: 'h2' };
    expect(ofObject([object, whole], 'h1', 'container/web1')).toEqual([object]);
    expect(ofObject([object, whole], 'h2', 'container/web1')).toEqual([]);
    expect(ofHost([object, whole], 'h1')).toBeUndefined();
    expect(ofHost([object, whole], 'h2')).toEqual(whole);
  });

  test('apply to no object whose name goes on after a dot', () => {
    const object = { ...base, id: '1', address: 'network/br0' };
    expect(ofObject([object], 'h1', 'network/br0')).toEqual([object]);
    expect(ofObject([object], 'h1', 'network/br0.100')).toEqual([]);
  });

  test('the set is compared again at the first end of a suspension', () => {
    const until = (text: string) => ({ ...base, id: text, until: text });
    const now = at('2026-05-04T12:00:00Z');
    expect(endsInMs([{ ...base, id: '1' }], now)).toBeUndefined();
    expect(endsInMs([until('2026-05-04T14:00:00Z'), until('2026-05-04T13:00:00Z')], now)).toBe(hourMs);
  });
});

test('hosts with equal documents share them, and a host variable separates them', async () => {
  const folder = tempFolder('gantry-alike-');
  writeFileSync(join(folder, 'a.yaml'), 'kind: profile\nname: web\nconfig: { user.rack: "${rack}" }\n');
  const hosts = ['h1', 'h2', 'h3'].map((name) => ({
    name,
    address: `unix:///${name}`,
    labels: {},
    groups: [],
    vars: { rack: name === 'h3' ? 'r2' : 'r1' },
  }));
  const config = { path: '', variables: {} } as unknown as SetConfig;
  const found = await loadRevision(folder, config, hosts, new AbortController().signal);
  expect(found.problems).toEqual([]);
  const [one, two, three] = ['h1', 'h2', 'h3'].map((name) => found.hosts.get(name));
  expect(two).toBe(one);
  expect(three?.text).not.toBe(one?.text);
  expect(three?.loaded.documents[0]?.values).toMatchObject({ config: { 'user.rack': 'r2' } });
});

test('an object whose dependencies changed is news to the page, and one that is the same is none', () => {
  const object = (dependsOn: string[]): readonly [string, ObjectSummary] => [
    'container/web',
    { host: 'h1', address: 'container/web', kind: 'container', name: 'web', status: 'synced', dependsOn },
  ];
  const changed = (before: string[], after: string[]): number =>
    changedObjects(new Map([object(before)]), new Map([object(after)])).changed.length;
  expect([changed(['profile/a'], ['profile/a']), changed(['profile/a'], ['profile/a', 'profile/b'])]).toEqual([0, 1]);
});
