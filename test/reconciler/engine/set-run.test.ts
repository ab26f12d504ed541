// Runs of a set against a daemon in memory: records on the server, pending restarts of an interrupted run, and the lock.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setNameOf } from '../../../reconciler/cli/flags/set-name.ts';
import { parseRecord } from '../../../reconciler/core/ownership/owner-records.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import type { Plan } from '../../../reconciler/core/plan/plan.ts';
import { emptySetState, readSetStates, renderSetState } from '../../../reconciler/core/ownership/set-state.ts';
import { execute } from '../../../reconciler/engine/execute.ts';
import type { RunResult } from '../../../reconciler/engine/run-result.ts';
import { Journal } from '../../../reconciler/engine/runs/journal.ts';
import { ownerOf } from '../../../reconciler/engine/runs/found-set.ts';
import { isAbandoned, LockedError, newLock } from '../../../reconciler/engine/notes/lock.ts';
import { observe } from '../../../reconciler/engine/observe/observe.ts';
import { OvertakenError, SetRun } from '../../../reconciler/engine/runs/set-run.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import type { EngineClient } from '../../../reconciler/engine/steps/context.ts';
import type { Operation } from '../../../server/api/operation.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';
import { FakeWorld } from '../../support/fakes/client.ts';
import { until } from '../../support/until.ts';
import { startWorldDaemon } from '../../support/fakes/world-daemon.ts';

const here = useCliWorld();
const run = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli([...argv, '--host', here.daemon.host], { env: { XDG_STATE_HOME: here.folder }, ...setting });
const apply = (path: string, ...flags: readonly string[]): Promise<CliRun> => run(['apply', '-y', path, ...flags]);

const profile = (config: string): string => `kind: profile\nname: web\nconfig: {${config}}\n`;
const container = (config: string, manage = '{}'): string =>
  `kind: container\nname: c1\nsource: {type: none}\nconfig: {${config}}\nmanage: ${manage}\n`;
const lockKey = 'user.gantry.lock.default';
const lockAs = (lock: object): void => void (here.world.config[lockKey] = JSON.stringify(lock));
const configOf = (kind: 'profile' | 'container', name: string): Record<string, string> =>
  here.world.objects[kind].get(name)?.['config'] as Record<string, string>;

async function plan(
  text: string,
  set = 'default',
): Promise<{ plan: Plan; runs: number; owner: ReturnType<typeof ownerOf> }> {
  const { documents } = await loadManifests({ paths: ['-'], stdin: text });
  const observed = await observe(here.world.client);
  const owner = ownerOf(set, observed);
  return { plan: planChanges({ documents, observed, owner }), owner, runs: observed.sets?.get(set)?.runs ?? 0 };
}

const noPause = async (): Promise<void> => {};
async function carryOut(text: string, more: Partial<ConstructorParameters<typeof SetRun>[0]> = {}): Promise<RunResult> {
  const made = await plan(text);
  const common = { client: here.world.client, nowMs: Date.now, pause: noPause, warn: () => {} };
  const setRun = new SetRun({ ...made.owner, ...common, runs: made.runs, ...more });
  return execute(made.plan, { client: here.world.client, emit: () => {}, pause: noPause, run: setRun, parallelism: 1 });
}

describe('keys of a set', () => {
  test('The record on an object has the keys of a set as hashes; dropped keys vanish, those of others stay', async () => {
    expect((await apply(here.manifest(profile('user.a: one, user.b: two')))).code).toBe(0);
    const text = configOf('profile', 'web')['user.gantry.own.default'] ?? '';
    expect(parseRecord(text)).toMatchObject({ whole: true });
    expect(text).not.toMatch(/one|two/);
    configOf('profile', 'web')['user.by-hand'] = 'mine';
    const second = await apply(here.manifest(profile('user.a: one')));
    expect(second.stdout).toContain('- config.user.b');
    expect(configOf('profile', 'web')).toMatchObject({ 'user.a': 'one', 'user.by-hand': 'mine' });
    expect(configOf('profile', 'web')).not.toHaveProperty(['user.b']);
    expect((await run(['plan', '--detailed-exitcode', join(here.folder, 'main.yaml')])).code).toBe(0);
  });

  test('Keys of another set are a conflict that names both sets, until they are taken by force', async () => {
    await apply(here.manifest(profile('user.a: one, user.c: same')), '--set', 'base');
    const refused = await apply(here.manifest(profile('user.a: two, user.c: same, user.d: new')), '--set', 'team');
    expect(refused.code).toBe(4);
    expect(refused.stdout).toContain('the set team would change what the set base put into profile/web: config.user.a');
    expect(configOf('profile', 'web')).not.toHaveProperty(['user.d']);
    expect((await apply(join(here.folder, 'main.yaml'), '--set', 'team', '--force-conflicts')).code).toBe(0);
    expect(configOf('profile', 'web')).toMatchObject({ 'user.a': 'two', 'user.c': 'same', 'user.d': 'new' });
    const back = await run(['plan', here.manifest(profile('user.a: one, user.c: same'), 'base.yaml'), '--set', 'base']);
    expect(back.code).toBe(4);
    expect(back.stdout).toContain('the set base would change what the set team put into');
  });

  test('A plan adopts objects that are as declared without a change, and a destroy leaves such an object', async () => {
    here.world.objects.profile.set('web', {
      name: 'web',
      description: '',
      config: { 'user.a': 'one', 'user.z': '1' },
      devices: {},
    });
    const first = await apply(here.manifest(profile('user.a: one')));
    expect(first.stdout).toContain('<= profile/web');
    expect(first.stdout).toContain('0 to destroy, 1 to take over');
    expect((await apply(join(here.folder, 'main.yaml'))).stdout).toContain('No changes');
    const gone = await run(['destroy', '-y', join(here.folder, 'main.yaml')]);
    expect(gone.stdout).toContain('it was there before the set default');
    expect(configOf('profile', 'web')).toEqual({ 'user.z': '1' });
    // The history remains after the set.
    expect(Object.keys(here.world.config).filter((key) => !/\.(history|documents)\./.test(key))).toEqual([]);
  });

  test('A plan distinguishes keys that were changed outside from keys that the manifest changed', async () => {
    await apply(here.manifest(profile('user.a: one, user.b: two')));
    configOf('profile', 'web')['user.a'] = 'other';
    const shown = await run(['plan', '--format', 'plan-json', here.manifest(profile('user.a: one, user.b: three'))]);
    const [change] = (JSON.parse(shown.stdout) as { resource_changes: { paths: { path: string; origin: string }[] }[] })
      .resource_changes;
    expect(change?.paths.map(({ path, origin }) => [path, origin])).toEqual([
      ['config.user.a', 'drift'],
      ['config.user.b', 'manifest'],
    ]);
  });
});

test('Sets of the same name in two projects are two sets', () => {
  expect(setNameOf({ set: 'web', project: 'blue.one' }, [])).toBe('web@blue~one');
  expect(setNameOf({ set: 'web', project: 'default' }, [])).toBe('web');
  const state = renderSetState('web@blue~one', emptySetState('a2V5'), {});
  expect([...readSetStates(state).keys()]).toEqual(['web@blue~one']);
  expect(() => setNameOf({ set: 'Web' }, [])).toThrow('lower-case');
});

describe('prune', () => {
  const two = `${profile('user.a: 1')}---\nkind: profile\nname: db\nconfig: {}\n---\n${container('')}`;
  test('Prune deletes objects that are no longer declared, data only when allowed, and needs the name of the set', async () => {
    await apply(here.manifest(two), '--set', 'site');
    const file = here.manifest(profile('user.a: 1'));
    expect((await apply(file, '--prune')).code).toBe(64);
    const plain = await run(['plan', file, '--set', 'site']);
    expect(plain.stdout).toContain('no longer declared, left alone');
    const guarded = await apply(file, '--set', 'site', '--prune');
    expect(guarded.code).toBe(4);
    expect(guarded.stdout).toContain('pruning container/c1 would delete the data in it');
    expect([...here.world.objects.profile.keys()]).toEqual(['default', 'db', 'web']);
    expect((await apply(file, '--set', 'site', '--prune', '--partial')).code).toBe(4);
    expect([...here.world.objects.profile.keys()]).toEqual(['default', 'web']);
    expect((await apply(file, '--set', 'site', '--prune', '--allow-destroy')).code).toBe(0);
    expect(here.world.objects.container.size).toBe(0);
    expect((await apply(file, '--set', 'site', '--prune')).stdout).toContain('No changes');
  });

  test('A share of a set is at least one object, so that the last of a small set can be pruned', async () => {
    await apply(here.manifest('kind: profile\nname: one\n---\nkind: profile\nname: two\n'), '--set', 'site');
    const limited = ['--set', 'site', '--prune', '--prune-limit', '20%'];
    const less = await apply(here.manifest('kind: profile\nname: one\n'), ...limited);
    expect(less.code).toBe(0);
    expect([...here.world.objects.profile.keys()]).toEqual(['default', 'one']);
  });

  test('Prune stops at its limit, and obeys the former manage: of a removed document', async () => {
    await apply(here.manifest(two.replace('config: {}', 'config: {}\nmanage: {on_delete: orphan}')), '--set', 'site');
    const file = here.manifest('kind: profile\nname: other\n');
    const capped = await apply(file, '--set', 'site', '--prune', '--prune-limit', '50%');
    expect(capped.stdout).toContain('more than the 1 that may be pruned at once');
    expect(here.world.objects.profile.has('web')).toBe(true);
    expect((await apply(file, '--set', 'site', '--prune', '--prune-limit', '3', '--allow-destroy')).code).toBe(0);
    expect([...here.world.objects.profile.keys()]).toEqual(['default', 'db', 'other']);
    expect(configOf('profile', 'db')).toEqual({});
  });
});

describe('a run that dies', () => {
  test('A run that dies between an update and its restart leaves the restart to the next run, once', async () => {
    await apply(here.manifest(container('limits.memory: 1GiB')));
    const started = here.world.objects.container.get('c1')?.['last_used_at'];
    here.world.beforeChange = (what) => {
      // Like a killed process: it writes nothing after this.
      if (what.startsWith('restart')) {
        here.world.beforePatch = () => {
          throw new Error('killed');
        };
        throw new Error('killed');
      }
    };
    await carryOut(container('security.nesting: true, security.privileged: true'));
    [here.world.beforeChange, here.world.beforePatch] = [undefined, undefined];
    expect(here.world.objects.container.get('c1')?.['last_used_at']).toBe(started);
    expect(configOf('container', 'c1')['security.privileged']).toBe('true');
    here.world.config = Object.fromEntries(
      Object.entries(here.world.config).filter(([key]) => !key.includes('.lock.')),
    );
    const file = here.manifest(container('security.nesting: true, security.privileged: true'));
    const next = await apply(file);
    expect(next.stdout).toContain('an unfinished change of an earlier run takes effect at a start');
    expect(here.world.objects.container.get('c1')?.['last_used_at']).not.toBe(started);
    expect((await run(['plan', '--detailed-exitcode', file])).code).toBe(0);
  });

  test('A run has no pending restart after someone else restarted the container', async () => {
    await apply(here.manifest(container('limits.memory: 1GiB')));
    here.world.beforeChange = (what) => {
      if (what.startsWith('restart')) throw new Error('no cgroup');
    };
    await apply(here.manifest(container('security.privileged: true')));
    here.world.beforeChange = undefined;
    await here.world.client.putContainerState('c1', { action: 'restart' });
    expect((await run(['plan', '--detailed-exitcode', join(here.folder, 'main.yaml')])).code).toBe(0);
  });

  test('A run that dies in a wait, or whose wait times out, leaves the wait to the next run', async () => {
    const file = here.manifest(container('', '{wait: [{ipv4: eth0, timeout: 50ms}]}'));
    expect((await apply(file)).code).toBe(6);
    expect((await run(['plan', '--detailed-exitcode', file])).stdout).toContain('before the container was ready');
    here.world.addresses.set('c1', '10.0.0.5');
    expect((await apply(file)).code).toBe(0);
    expect((await run(['plan', '--detailed-exitcode', file])).code).toBe(0);
  });

  test('The journal of a run has every step and no values', async () => {
    await apply(here.manifest(profile('environment.DB_PASSWORD: S3CR3T')));
    const runs = join(here.folder, 'gantry/runs/default');
    const [name = ''] = readdirSync(runs);
    const text = readFileSync(join(runs, name), 'utf8');
    expect(text).not.toContain('S3CR3T');
    const lines = text.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['run', 'start', 'done', 'end']);
  });

  test('The journal has the begin of a step at once and its end soon after, in their order', async () => {
    const made = await plan(`${profile('user.a: 1')}---\nkind: profile\nname: db\n`);
    const [first, second] = made.plan.steps;
    if (first === undefined || second === undefined) throw new Error('the plan has fewer than two steps');
    const journal = new Journal({ directory: here.folder, set: 'journalled', host: 'h' }, 'r1', Date.now, () => {});
    const lines = (): readonly string[] =>
      readFileSync(join(here.folder, 'runs/journalled', `${journal.id}.ndjson`), 'utf8')
        .trim()
        .split('\n')
        .map((line) => {
          const { type, step } = JSON.parse(line) as { type: string; step?: string };
          return step === undefined ? type : `${type} ${step}`;
        });
    journal.begin(made.plan);
    journal.event({ type: 'apply_start', step: first, atMs: 1 });
    expect(lines()).toEqual(['run', `start ${first.id}`]);
    journal.begun(first, { id: 'o1' } as Operation);
    expect(lines().at(-1)).toBe(`operation ${first.id}`);
    journal.event({ type: 'apply_complete', step: first, atMs: 2, elapsedMs: 1 });
    journal.event({ type: 'apply_start', step: second, atMs: 2 });
    const soFar = ['run', `start ${first.id}`, `operation ${first.id}`, `done ${first.id}`, `start ${second.id}`];
    expect(lines()).toEqual(soFar);
    journal.event({ type: 'apply_complete', step: second, atMs: 3, elapsedMs: 1 });
    await until(() => lines().length > soFar.length);
    journal.finish(undefined);
    expect(lines()).toEqual([...soFar, `done ${second.id}`, 'end']);
  });
});

describe('the lock of a set', () => {
  test('The lock of a set keeps others away with exit code 5, and lets them in after its release', async () => {
    const file = here.manifest(profile('user.a: 1'));
    const locked = await run(['lock', '--reason', 'moving house']);
    const id = /([0-9a-f]{12}) releases/.exec(locked.stdout)?.[1] ?? '';
    const refused = await apply(file);
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain('moving house');
    expect((await apply(file, '--set', 'other')).code).toBe(0);
    expect((await run(['force-unlock', 'abc'])).code).toBe(64);
    expect((await run(['force-unlock', id])).code).toBe(0);
    expect((await apply(file, '--set', 'other')).code).toBe(0);
    expect(here.world.config[lockKey]).toBeUndefined();
  });

  test('The lock of a dead process on this machine is free; one of another machine must be overdue and not renewed', async () => {
    const dead = { ...newLock('aaa', Date.now(), 60_000), pid: 999_999_999 };
    expect(isAbandoned(dead)).toBe(true);
    expect(isAbandoned({ ...newLock('aaa', Date.now(), 60_000), pid: process.ppid })).toBe(true);
    lockAs(dead);
    expect((await carryOut(profile('user.a: 1'))).failures).toEqual([]);
    // On another machine, whose clock is an hour behind.
    const elsewhere = { ...newLock('bbb', Date.now() - 3_600_000, 60_000), boot: 'another' };
    lockAs(elsewhere);
    let nowMs = Date.now();
    let looks = 0;
    const pause = async (ms: number): Promise<void> => {
      nowMs += ms;
      looks += 1;
      // The holder lives: it renews its lock for a while.
      if (looks < 30) lockAs({ ...elsewhere, beat: looks });
    };
    const clocks = { pause, nowMs: () => nowMs, steadyMs: () => nowMs };
    expect((await carryOut(profile('user.a: 2'), clocks)).failures).toEqual([]);
    expect(looks).toBeGreaterThan(30);
    lockAs({ ...elsewhere, expires: new Date(nowMs + 60_000).toISOString() });
    await expect(carryOut(profile('user.a: 3'), { nowMs: () => nowMs })).rejects.toBeInstanceOf(LockedError);
    expect(configOf('profile', 'web')['user.a']).toBe('2');
  });

  test('A lock whose holder had its clock ahead is free once nobody renewed it for a whole TTL', async () => {
    const ahead = { ...newLock('ccc', Date.now() + 3_600_000, 60_000), boot: 'another' };
    const lockWith = (more: object): void => lockAs({ ...ahead, ...more });
    const startMs = Date.now();
    let nowMs = startMs;
    let beat = 0;
    let isAlive = false;
    const pause = async (ms: number): Promise<void> => {
      nowMs += ms;
      if (isAlive) lockWith({ beat: (beat += 1) });
    };
    const clocks = { pause, nowMs: () => nowMs, steadyMs: () => nowMs };
    lockWith({});
    expect((await carryOut(profile('user.a: 1'), clocks)).failures).toEqual([]);
    expect(nowMs - startMs).toBeGreaterThanOrEqual(60_000);
    expect(nowMs - startMs).toBeLessThan(70_000);
    // A holder that lives keeps its lock, and so does a person.
    isAlive = true;
    lockWith({});
    const isRefused = async (more: object): Promise<void> =>
      expect(carryOut(profile('user.a: 2'), { ...clocks, ...more })).rejects.toBeInstanceOf(LockedError);
    await isRefused({});
    await isRefused({ lockTimeoutMs: 300_000 });
    isAlive = false;
    lockWith({ reason: 'maintenance' });
    await isRefused({ lockTimeoutMs: 300_000 });
    expect(configOf('profile', 'web')['user.a']).toBe('1');
  });

  test.each([{ lockTimeoutMs: 0 }, { lockTimeoutMs: 300_000 }])(
    'A run with a short TTL takes no lock from one that lives and has a longer TTL, waiting $lockTimeoutMs ms',
    async ({ lockTimeoutMs }) => {
      const held = { ...newLock('ccc', Date.now(), 60_000), boot: 'another' };
      let nowMs = Date.now();
      const renewalMs = 20_000;
      const pause = async (ms: number): Promise<void> => {
        nowMs += ms;
        const beat = Math.floor((nowMs - Date.parse(held.at)) / renewalMs);
        const expires = new Date(Date.parse(held.at) + beat * renewalMs + 60_000).toISOString();
        lockAs({ ...held, beat, expires });
      };
      await pause(0);
      const clocks = { pause, nowMs: () => nowMs, steadyMs: () => nowMs, ttlMs: 9_000, lockTimeoutMs };
      await expect(carryOut(profile('user.a: 1'), clocks)).rejects.toBeInstanceOf(LockedError);
    },
  );

  test('An administrator and a restricted client never lock a set at once, in any order', async () => {
    const { world } = here;
    world.objects.certificate.set('abc', { fingerprint: 'abc', restricted: true, projects: ['default'] });
    const made = await plan(profile('user.a: 1'));
    const { client } = world;
    const refused = (): never => {
      throw new ClientError('forbidden', 'not permitted', { status: 403 });
    };
    const tenant: EngineClient = {
      ...client,
      patchServer: refused,
      server: async () => ({ ...(await client.server()), metadata: { auth: 'trusted', api_extensions: [] } as never }),
    };
    const common = { nowMs: Date.now, pause: noPause, warn: () => {} };
    const runOf = (by: EngineClient, runs = 0): SetRun => new SetRun({ ...made.owner, ...common, client: by, runs });
    const begin = async (one: SetRun): Promise<boolean> => {
      try {
        await one.begin(made.plan, new AbortController().signal);
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(LockedError);
        return false;
      }
    };
    const [first, second] = [runOf(client), runOf(tenant)];
    const begun = await Promise.all([begin(first), begin(second)]);
    expect(begun.filter(Boolean)).toHaveLength(1);
    await first.finish(undefined);
    await second.finish(undefined);
    for (const [holder, other] of [
      [tenant, client],
      [client, tenant],
    ] as const) {
      world.config = {};
      world.objects.profile.delete('gantry-notes');
      const [held, waiting] = [runOf(holder), runOf(other)];
      expect([await begin(held), await begin(waiting)]).toEqual([true, false]);
      await held.finish(undefined);
      const next = runOf(other, Object.hasOwn(world.config, 'user.gantry.set.default') ? 0 : 1);
      expect(await begin(next)).toBe(true);
      await next.finish(undefined);
      expect(world.objects.profile.get('gantry-notes')?.['config'] ?? {}).not.toHaveProperty(lockKey);
    }
  });

  test('A run gets the lock despite many concurrent writes to the server config', async () => {
    let storms = 12;
    here.world.beforePatch = () => {
      if ((storms -= 1) > 0) here.world.config['user.other'] = String(storms);
    };
    expect((await carryOut(profile('user.a: 1'))).failures).toEqual([]);
    expect(storms).toBeLessThan(0);
  });

  test('A run whose lock another run took, while this one could not renew it, starts no further step', async () => {
    const made = await plan(`${profile('user.a: 1')}---\nkind: profile\nname: db\nconfig: {}\n`);
    const warnings: string[] = [];
    const { client } = here.world;
    const deps = { client, nowMs: Date.now, pause: noPause, warn: (text: string) => void warnings.push(text) };
    const setRun = new SetRun({ ...made.owner, ...deps, runs: made.runs, ttlMs: 300 });
    const other = JSON.stringify(newLock('another run', Date.now(), 60_000));
    const beforeStep = async (): Promise<void> => {
      here.world.config[lockKey] = other;
      await until(() => setRun.isTaken);
    };
    const common = { client, emit: () => {}, pause: noPause, run: setRun, parallelism: 1 };
    const { done, failures, skipped } = await execute(made.plan, { ...common, beforeStep });
    expect([done, skipped.length]).toEqual([[], 1]);
    expect(failures).toMatchObject([
      { code: 'stale', why: expect.stringContaining('another run of the set took the lock') },
    ]);
    expect([...here.world.objects.profile.keys()]).toEqual(['default']);
    // The lock belongs to the other run.
    expect(here.world.config[lockKey]).toBe(other);
    expect(warnings.join()).toContain('could not be renewed: another run took the lock');
  });

  test('A plan that another run of the set has overtaken does not get the lock', async () => {
    const made = await plan(profile('user.a: 1'));
    await carryOut(profile('user.a: 2'));
    const common = { client: here.world.client, nowMs: Date.now, pause: noPause, warn: () => {} };
    const late = new SetRun({ ...made.owner, ...common, runs: made.runs });
    const deps = { client: here.world.client, emit: () => {}, pause: noPause, run: late };
    await expect(execute(made.plan, deps)).rejects.toBeInstanceOf(OvertakenError);
    expect(configOf('profile', 'web')['user.a']).toBe('2');
  });

  test('A run writes lock and notes once at its begin and once at its end, and never without steps', async () => {
    const file = here.manifest(profile('user.a: 1'));
    await apply(file);
    expect(here.world.serverWrites).toBe(2);
    await apply(file);
    expect(here.world.serverWrites).toBe(2);
  });
});

test('A state that exceeds the length of a key is split over several keys, and shrinks again', () => {
  const unready = new Set(Array.from({ length: 9000 }, (_, index) => `container-number-${index}`));
  const long = renderSetState('s', { ...emptySetState('a2V5'), unready }, {});
  expect(Object.keys(long).length).toBeGreaterThan(2);
  expect(readSetStates(long).get('s')?.unready.size).toBe(9000);
  const short = renderSetState('s', emptySetState('a2V5'), long);
  expect(Object.keys(short)).toEqual(Object.keys(long));
  expect(readSetStates({ ...long, ...short }).get('s')).toEqual(emptySetState('a2V5'));
  expect(readSetStates({ 'user.gantry.set.x': '{"v":1,"key":' }).size).toBe(0);
});

test('A run that is interrupted at any change or note continues, and then nothing is left to do', async () => {
  const before = `${profile('user.a: 1')}---\n${container('user.b: 1')}---\nkind: profile\nname: gone\n`;
  const then = `${profile('security.privileged: true')}---
kind: container
name: c1
source: {type: none}
profiles: [default, web]
manage: {wait: [{ipv4: eth0, timeout: 5s}]}
---
kind: image_alias
name: spare
target: ${'a'.repeat(64)}
---
kind: container
name: c2
source: {type: none}
`;
  const flags = ['--set', 'site', '--prune', '--prune-limit', '9'];
  const attempt = async (stopAt: number): Promise<number> => {
    const world = new FakeWorld();
    world.objects.image.set('a'.repeat(64), { fingerprint: 'a'.repeat(64), properties: {} });
    world.addresses.set('c1', '10.0.0.5');
    const own = await startWorldDaemon(world);
    const go = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', own.host]);
    try {
      expect((await go('apply', '-y', here.manifest(before), ...flags)).code).toBe(0);
      const started = world.objects.container.get('c1')?.['last_used_at'];
      let count = 0;
      const stop = (): void => {
        // Every further call fails, as for a killed process.
        if ((count += 1) > stopAt) throw new Error('killed');
      };
      [world.beforeChange, world.beforePatch] = [stop, stop];
      const file = here.manifest(then);
      const broken = await go('apply', '-y', file, ...flags);
      [world.beforeChange, world.beforePatch] = [undefined, undefined];
      if (broken.code === 0) return 0;
      const again = await go('apply', '-y', file, ...flags);
      expect(again.code, `stopped at ${stopAt}: ${again.stdout} ${again.stderr}`).toBe(0);
      const settled = await go('plan', '--detailed-exitcode', file, ...flags);
      expect(settled.code, `stopped at ${stopAt}: ${settled.stdout}`).toBe(0);
      expect(world.objects.container.get('c1')?.['last_used_at'], `stopped at ${stopAt}: not restarted`).not.toBe(
        started,
      );
      expect([...world.objects.profile.keys()].sort()).toEqual(['default', 'web']);
      const notes = Object.keys(world.config).filter((key) => !/^user\.gantry\.(history|documents)\./.test(key));
      expect(notes).toEqual(['user.gantry.set.site']);
      return count;
    } finally {
      await own.stop();
    }
  };
  let stopAt = 0;
  while ((await attempt(stopAt)) > 0) stopAt += 1;
  expect(stopAt).toBeGreaterThan(7);
});
