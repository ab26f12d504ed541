// Plans for the inside of containers: the place of files, commands and snapshots among the steps, and why a command is due.
import { describe, expect, test } from 'vitest';
import { defaultManage, type Document, type JsonObject } from '../../../reconciler/core/documents/document.ts';

import { fileIdentity, isTriggeredBy, pathText, triggerOf } from '../../../reconciler/core/documents/inside.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { planJson } from '../../../reconciler/core/render/plan-json.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import type { Plan, SetOwner } from '../../../reconciler/core/plan/plan.ts';
import { keyHash } from '../../../reconciler/engine/runs/key-hash.ts';
import { renderPlan } from '../../../reconciler/core/render/render-plan.ts';
import { applyPlan } from '../../support/fakes/model-daemon.ts';
import { document, liveContainer, liveProfile, world } from '../../support/fakes/worlds.ts';

const owner: SetOwner = { set: 'default', hash: keyHash('a2V5') };
const file = (digit: string, mode = '0644'): JsonObject => ({
  type: 'file',
  content: `sha256:${digit.repeat(64)}`,
  mode,
  uid: 0,
  gid: 0,
});
const timeout_ms = 1000;

function container(values: JsonObject, extra: Parameters<typeof document>[3] = {}): Document {
  return document('container', 'c1', { source: { type: 'none' }, ...values }, extra);
}
const empty = (): Observed => world({ profiles: [liveProfile('default')] });
const plan = (one: Document, observed: Observed): Plan => planChanges({ documents: [one], observed, owner });
const stepsOf = ({ steps }: Plan): readonly string[] =>
  steps.map((step) => {
    if (step.action === 'exec') return `exec ${step.exec}`;
    if (step.action === 'wait') return `wait ${step.condition.type}`;
    if (step.action !== 'files') return step.action;
    return [...step.writes.map(({ path }) => `+${path}`), ...step.removes.map((path) => `-${path}`)].join(' ');
  });
const reasonsOf = (made: Plan): readonly string[] => made.changes.flatMap(({ reasons }) => reasons);
/** The world after the document was applied. */
const applied = (one: Document, observed = empty()): Observed => applyPlan(plan(one, observed), observed, owner);

test('the set owns a device named constructor: the next plan is empty, and removes the device once no document declares it', () => {
  const device = { type: 'unix-char', path: '/dev/zero' };
  const one = container({ devices: { constructor: device } });
  const observed = applied(one);
  expect(plan(one, observed).steps).toEqual([]);
  expect(plan(container({ devices: {} }), observed).changes.flatMap(({ changes }) => changes)).toMatchObject([
    { path: 'devices.constructor' },
  ]);
  expect(plan(container({ devices: { constructor: null } }), applied(container({}))).changes).toMatchObject([
    { action: 'no-op' },
  ]);
});

describe('the order of steps', () => {
  const values = {
    files: { '/srv/a': file('1'), '/srv': { type: 'directory' } },
    exec: { first: { command: ['a'], timeout_ms }, second: { command: ['b'], timeout_ms } },
    snapshots: { fresh: {} },
  };
  const wait = [
    { type: 'tcp' as const, port: 80, timeoutMs: 1 },
    { type: 'ipv4' as const, timeoutMs: 1 },
  ];

  test('files are written before the first start, commands run after the boot and before waits for their results, snapshots are last', () => {
    expect(stepsOf(plan(container(values, { manage: { wait } }), empty()))).toEqual([
      'create',
      '+/srv +/srv/a',
      'start',
      'wait ipv4',
      'exec first',
      'exec second',
      'wait tcp',
      'snapshot',
    ]);
  });

  test('files on a disk device are written once a new container runs, before its commands', () => {
    const data = { type: 'disk', source: '/mnt/data', path: '/srv/data' };
    const mounted = { ...values, files: { ...values.files, '/srv/data/b': file('2') } };
    const waits = { manage: { wait } };
    const expected = ['create', '+/srv +/srv/a', 'start', 'wait ipv4', '+/srv/data/b', 'exec first', 'exec second'];
    const own = plan(container({ ...mounted, devices: { data } }, waits), empty());
    expect(stepsOf(own)).toEqual([...expected, 'wait tcp', 'snapshot']);
    const shared = world({
      profiles: [liveProfile('default', { devices: { root: { type: 'disk', path: '/', pool: 'default' }, data } })],
    });
    expect(stepsOf(plan(container(mounted, waits), shared))).toEqual([...expected, 'wait tcp', 'snapshot']);
  });

  test('files are written and nothing runs in a stopped container', () => {
    const stopped = container(values, { state: 'stopped' });
    expect(stepsOf(plan(stopped, empty()))).toEqual(['create', '+/srv +/srv/a', 'snapshot']);
    const after = applied(stopped);
    expect(stepsOf(plan(stopped, after))).toEqual([]);
    expect(stepsOf(plan(container(values), after))).toEqual(['start', 'exec first', 'exec second']);
  });

  test('dropped files are removed before the record drops them, and new files are written after it', () => {
    const before = container({ files: { '/srv': { type: 'directory' }, '/srv/a': file('1'), '/b': file('1') } });
    const after = container({ files: { '/b': file('2') } });
    expect(stepsOf(plan(after, applied(before)))).toEqual(['-/srv/a -/srv', 'update', '+/b']);
  });

  test('files of others and ignored files are not removed', () => {
    const live = Object.assign(liveContainer('c1'), { files: { '/own': file('1') } });
    const observed = world({ profiles: [liveProfile('default')], containers: [live] });
    // Only the record is written.
    expect(stepsOf(plan(container({ files: {} }), observed))).toEqual(['update']);
    const ignoring = container({ files: { '/b': file('2') } }, { manage: { ignore: [{ path: 'files["/b"].mode' }] } });
    const other = applied(container({ files: { '/b': file('2', '0600') } }));
    expect(stepsOf(plan(ignoring, other))).toEqual([]);
  });

  test('a destroy removes the files of the set from a container that it did not create, and leaves the rest', () => {
    const live = Object.assign(liveContainer('c1'), { files: {} });
    const one = container({ files: { '/srv': { type: 'directory' }, '/srv/a': file('1') } });
    const observed = applied(one, world({ profiles: [liveProfile('default')], containers: [live] }));
    const destroy = planDestroy({ documents: [one], observed, owner });
    expect(stepsOf(destroy)).toEqual(['-/srv/a -/srv', 'update']);
    const [update] = destroy.steps.filter(({ action }) => action === 'update');
    expect(update).toMatchObject({ edits: [], owner: { release: true } });
  });
});

describe('a command is due', () => {
  const exec = (spec: JsonObject, more: JsonObject = {}): Document =>
    container({ exec: { it: { command: ['a'], timeout_ms, ...spec } }, ...more });

  test('once after its creation, and again when its text changes', () => {
    const after = applied(exec({}));
    expect(stepsOf(plan(exec({}), after))).toEqual([]);
    const other = plan(exec({ environment: { A: '1' } }), after);
    expect(reasonsOf(other)).toEqual(['exec["it"] runs: the command differs from the one that ran']);
    expect(stepsOf(plan(exec({ once: true, command: ['b'] }), after))).toEqual([]);
    // A new timeout does not make the command due.
    expect(stepsOf(plan(exec({ timeout_ms: 5 }), after))).toEqual([]);
  });

  test('when its triggers change in the manifest, and when a user changed them by hand', () => {
    const of = (digit: string): Document => exec({ on_change: ['/etc'] }, { files: { '/etc/a': file(digit) } });
    const after = applied(of('1'));
    expect(stepsOf(plan(of('1'), after))).toEqual([]);
    const changed = plan(of('2'), after);
    expect(reasonsOf(changed)).toEqual(['exec["it"] runs: files["/etc/a"].content changes']);
    expect(stepsOf(changed)).toEqual(['update', '+/etc/a', 'exec it']);
    const live = after.containers.get('c1')?.object ?? liveContainer('c1');
    const drifted = new Map([['c1', { object: Object.assign({}, live, { files: { '/etc/a': file('3') } }) }]]);
    const repaired = plan(of('1'), { ...after, containers: drifted });
    expect(stepsOf(repaired)).toEqual(['update', '+/etc/a', 'exec it']);
    // If a run dies after writing the file, the command stays due, since its mark was removed first.
    const [update, files] = repaired.steps;
    const cut = applyPlan(
      { ...repaired, steps: [update, files].flatMap((step) => step ?? []) },
      { ...after, containers: drifted },
      owner,
    );
    expect(stepsOf(plan(of('1'), cut))).toEqual(['exec it']);
  });

  test('a command is due after every start, by gantry or by a user', () => {
    const boot = exec({ on_start: true });
    const after = applied(boot);
    expect(stepsOf(plan(boot, after))).toEqual([]);
    const live = after.containers.get('c1')?.object ?? liveContainer('c1');
    const started = new Map([['c1', { object: { ...live, last_used_at: '2026-02-02T00:00:00Z' } }]]);
    expect(reasonsOf(plan(boot, { ...after, containers: started }))).toEqual([
      'exec["it"] runs: the container has started since then',
    ]);
    const stopped = new Map([['c1', { object: { ...live, status: 'Stopped', status_code: 102 } }]]);
    expect(stepsOf(plan(boot, { ...after, containers: stopped }))).toEqual(['start', 'exec it']);
  });

  test('a command is due in a frozen container only when it is thawed or started again', () => {
    const live = liveContainer('c1', { status: 'Frozen', status_code: 110 });
    const observed = world({ profiles: [liveProfile('default')], containers: [live] });
    expect(stepsOf(plan(exec({}), observed))).toEqual(['update', 'start', 'exec it']);
    const unmanaged = { ...exec({}), manage: { ...defaultManage, power: 'ignore' as const } };
    expect(stepsOf(plan(unmanaged, observed))).toEqual(['update']);
    const changed = exec({}, { config: { 'security.privileged': 'true' } });
    expect(stepsOf(plan(changed, observed))).toEqual(['update', 'restart', 'exec it']);
  });

  test('while its result does not exist, even if it ran before', () => {
    const make = exec({ creates: '/made' });
    const after = applied(make);
    expect(stepsOf(plan(make, after))).toEqual([]);
    const live = after.containers.get('c1')?.object ?? liveContainer('c1');
    const gone = new Map([['c1', { object: Object.assign({}, live, { made: { '/made': false } }) }]]);
    expect(reasonsOf(plan(make, { ...after, containers: gone }))).toEqual(['exec["it"] runs: there is no /made']);
  });

  test('a command without records is due only in a new container', () => {
    const nobody = (observed: Observed): Plan => planChanges({ documents: [exec({})], observed });
    expect(stepsOf(nobody(empty()))).toEqual(['create', 'start', 'exec it']);
    expect(stepsOf(nobody(applyPlan(nobody(empty()), empty())))).toEqual([]);
  });
});

test('an existing snapshot is not taken again, an expired one is not missed, and none is deleted', () => {
  const spec = { expires_at: '2030-01-01T00:00:00.000Z' };
  const of = (snapshots: JsonObject): Observed =>
    world({ profiles: [liveProfile('default')], containers: [Object.assign(liveContainer('c1'), { snapshots })] });
  const one = container({ snapshots: { a: spec } });
  const steps = (snapshots: JsonObject, wanted = one): readonly string[] =>
    stepsOf(planChanges({ documents: [wanted], observed: of(snapshots) }));
  expect(steps({})).toEqual(['snapshot']);
  expect(steps({ a: { ...spec, description: '' } })).toEqual([]);
  expect(steps({ a: { expires_at: '2031-01-01T00:00:00.000Z' } })).toEqual(['snapshot']);
  expect(steps({ a: { expired: true } })).toEqual([]);
  expect(steps({ a: spec, other: {} }, container({ snapshots: {} }))).toEqual([]);
});

test('a snapshot and a command may have the name of a member of every JavaScript object', () => {
  const command = { command: ['a'], timeout_ms };
  const live = applied(container({ exec: { first: command } }));
  const next = container({ exec: { first: command, toString: command }, snapshots: { constructor: {} } });
  const steps = stepsOf(plan(next, live));
  expect(steps).toContain('exec toString');
  expect(steps).toContain('snapshot');
});

test('two sets may declare one snapshot with equal attributes; attributes of one set belong to it', () => {
  const until = (year: number): Document =>
    container({ snapshots: { fresh: { expires_at: `${year}-01-01T00:00:00.000Z` } } });
  const team: SetOwner = { set: 'team', hash: keyHash('b3RoZXI') };
  const planOfTeam = (one: Document, forceConflicts = false): Plan =>
    planChanges({ documents: [one], observed: after, owner: team, options: { forceConflicts } });
  const after = applied(until(2099));
  expect(planOfTeam(until(2098)).guards).toMatchObject([
    { code: 'conflict', message: expect.stringContaining('snapshots["fresh"].expires_at') as string },
  ]);
  expect(planOfTeam(until(2099)).guards).toEqual([]);
  const described = container({ snapshots: { fresh: { description: 'of both' } } });
  expect(planOfTeam(described).guards).toEqual([]);
  const both = applyPlan(planOfTeam(described), after, team);
  expect(plan(until(2099), both).steps).toEqual([]);
  // After the takeover the snapshot no longer belongs to the other set.
  const taken = applyPlan(planOfTeam(until(2098), true), after, team);
  expect(plan(until(2099), taken).guards).toMatchObject([{ code: 'conflict' }]);
});

test('values are readable: short hashes, commands as they are typed, secrets hidden', () => {
  const one = container(
    {
      files: { '/a': file('1'), '/pw': file('2', '0600'), '/l': { type: 'symlink', target: 'a' } },
      exec: {
        shell: { command: ['/bin/sh', '-c', 'a | b'], timeout_ms },
        words: { command: ['echo', 'two words', 'hush'], timeout_ms },
      },
    },
    { secrets: ['files./pw.content', 'exec.words.command.2'] },
  );
  const text = renderPlan(plan(one, empty()), { color: false });
  expect(text).toContain('+ files["/a"]   = file sha256:111111111111, mode 0644, owner 0:0\n');
  expect(text).toContain('+ files["/pw"]  = file (secret), mode 0600, owner 0:0\n');
  expect(text).toContain('+ files["/l"]   = link to a\n');
  expect(text).toContain('+ exec["shell"] = a | b\n');
  expect(text).toContain('+ exec["words"] = echo "two words" (secret)\n');
});

test('the JSON plan holds files with their hashes, except for secret ones', () => {
  const values = { files: { '/a': file('1'), '/pw': file('2') } };
  const json = planJson(plan(container(values, { secrets: ['files./pw.content'] }), empty()));
  const [change] = json['resource_changes'] as readonly {
    change: { after: JsonObject; after_sensitive: JsonObject };
  }[];
  expect(change?.change.after['files']).toEqual({ '/a': file('1'), '/pw': { ...file('2'), content: '(secret)' } });
  expect(change?.change.after_sensitive).toMatchObject({ files: { '/pw': { content: true } } });
});

test('on_change names paths inside and keys of the document', () => {
  expect(pathText(['config', 'limits.memory'])).toBe('config.limits.memory');
  expect(pathText(['files', '/etc/a"b', 'mode'])).toBe(String.raw`files["/etc/a\"b"].mode`);
  const values = { files: { '/etc/a': file('1'), '/etcetera': file('1') }, config: { 'limits.memory': '1GiB' } };
  expect(triggerOf(values, '/etc')).toHaveLength(1);
  expect(triggerOf(values, 'config.limits.memory')).toBe('1GiB');
  expect(isTriggeredBy('/etc', ['files', '/etcetera', 'mode'])).toBe(false);
  expect(isTriggeredBy('config', ['config', 'limits.memory'])).toBe(true);
  expect(fileIdentity({ type: 'directory', mode: '0755' })).toBe(fileIdentity({ type: 'directory', mode: '0700' }));
  expect(fileIdentity(file('1'))).not.toBe(fileIdentity(file('1', '0600')));
});
