// The engine against an in-memory server: order, parallelism, interrupted runs, conflicts, interruption. waits.test.ts has waits and power.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import { hasChanges } from '../../../reconciler/core/plan/summary.ts';
import { exitCodeOf } from '../../../reconciler/cli/errors/exit-codes.ts';
import { recordKey } from '../../../reconciler/core/ownership/owner-records.ts';
import { observe } from '../../../reconciler/engine/observe/observe.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { FakeWorld, type FaultKind } from '../../support/fakes/client.ts';
import { applied, documents, planFor, run } from '../../support/fakes/engine-run.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const folder = tempFolder('gantry-engine-');
beforeAll(() => writeFileSync(join(folder, 'image.tar'), 'not really a tarball'));

const stack = (): string => `
kind: storage_pool
name: fast
driver: dir
---
kind: network
name: web0
config: { ipv4.address: 10.20.0.1/24 }
---
kind: image
name: base
file: ${join(folder, 'image.tar')}
---
kind: image_alias
name: base
target: base
---
kind: profile
name: web
config: { limits.memory: 512MiB }
devices:
  root: { type: disk, path: /, pool: fast }
  eth0: { type: nic, nictype: bridged, parent: web0 }
---
kind: container
name: web1
profiles: [default, web]
source: { type: image, alias: base }
state: running
---
kind: container
name: web2
profiles: [default, web]
source: { type: image, alias: base }
state: stopped
`;

describe('apply and destroy', () => {
  test('An apply creates all objects in a valid order, and a second plan is empty', async () => {
    const world = new FakeWorld();
    const { result, events } = await run(world, await planFor(world, stack()));
    expect(result.failures).toEqual([]);
    expect(result.skipped).toEqual([]);
    expect(world.objects.container.get('web1')?.['status']).toBe('Running');
    expect(world.objects.container.get('web2')?.['status']).toBe('Stopped');
    expect(hasChanges(await planFor(world, stack()))).toBe(false);
    const started = events.filter(({ type }) => type === 'apply_start').length;
    expect(started).toBe(events.filter(({ type }) => type === 'apply_complete').length);
    expect(started).toBe(result.done.length);
  });

  test('An apply never runs more steps at once than allowed', async () => {
    for (const [parallelism, max] of [
      [1, 1],
      [2, 2],
    ] as const) {
      const world = new FakeWorld();
      world.beforeChange = () => new Promise((resolve) => setImmediate(resolve));
      await run(world, await planFor(world, stack()), { parallelism });
      expect(world.maxRunning).toBe(max);
    }
  });

  test('Updates of profiles take turns, those of containers do not', async () => {
    const declared = (memory: string, objects: readonly string[]): string =>
      objects.map((object) => `${object}\nconfig: { limits.memory: ${memory} }\n`).join('---\n');
    const updated = async (...objects: readonly string[]): Promise<number> => {
      const world = await applied(declared('1GiB', objects));
      world.beforeChange = () => new Promise((resolve) => setImmediate(resolve));
      world.maxRunning = 0;
      const { result } = await run(world, await planFor(world, declared('2GiB', objects)));
      expect(result).toMatchObject({ failures: [], done: { length: objects.length } });
      return world.maxRunning;
    };
    const container = (name: string): string => `kind: container\nname: ${name}\nsource: { type: none }`;
    expect(await updated(...['a', 'b', 'c'].map((name) => `kind: profile\nname: ${name}`))).toBe(1);
    expect(await updated(...['a', 'b', 'c'].map(container))).toBe(3);
  });

  test('A destroy deletes users before the objects that they use', async () => {
    const world = await applied(stack());
    const plan = planDestroy({ documents: await documents(stack()), observed: await observe(world.client) });
    const { result } = await run(world, plan);
    expect(result.failures).toEqual([]);
    expect(world.objects.container.size + world.objects.network.size + world.objects.storage_pool.size).toBe(0);
    expect([...world.objects.profile.keys()]).toEqual(['default']);
  });
});

test('A destroy leaves alone what another set has taken over since the plan, running', async () => {
  const world = await applied(stack());
  const plan = planDestroy({ documents: await documents(stack()), observed: await observe(world.client) });
  const config = (name: string) => world.objects.container.get(name)?.['config'] as Record<string, string>;
  config('web1')[recordKey('other')] = JSON.stringify({ v: 1, k: {}, w: 1 });
  const { result } = await run(world, plan);
  expect(result.failures.map(({ address, why }) => `${address}: ${why}`)).toEqual([
    'container/web1: the set other has taken it over since the plan was made',
  ]);
  expect([...world.objects.container.values()].map(({ name, status }) => [name, status])).toEqual([
    ['web1', 'Running'],
  ]);
});

describe('a second run after an interrupted one', async () => {
  const kinds: readonly FaultKind[] = ['before', 'after', 'refused'];
  test.each(kinds)(
    'Applying again converges after a failure at any change that fails %s it took effect',
    async (kind) => {
      const whole = await applied(stack());
      const reference = new FakeWorld();
      await run(reference, await planFor(reference, stack()), { parallelism: 1 });
      const changes = reference.changes.length;
      expect(changes).toBeGreaterThanOrEqual(8);
      for (let at = 1; at <= changes; at += 1) {
        const world = new FakeWorld();
        world.fault = { at, kind };
        const first = await run(world, await planFor(world, stack()), { parallelism: 1 });
        // A read shows that a seeming failure succeeded; a start that did not happen is repeated.
        const isMended =
          kind === 'after' || (kind === 'before' && reference.changes[at - 1]?.startsWith('start') === true);
        expect(first.result.failures, `change ${at}`).toHaveLength(isMended ? 0 : 1);
        const again = await run(world, await planFor(world, stack()));
        expect(again.result.failures, `change ${at}`).toEqual([]);
        expect(world.snapshot(), `change ${at}`).toEqual(whole.snapshot());
        expect(hasChanges(await planFor(world, stack())), `change ${at}`).toBe(false);
      }
    },
  );

  test('Applying again converges after the first run was cancelled at any change', async () => {
    const whole = await applied(stack());
    for (let at = 1; at <= 9; at += 1) {
      const world = new FakeWorld();
      const cancel = new AbortController();
      let seen = 0;
      world.beforeChange = () => {
        seen += 1;
        if (seen === at) cancel.abort(new Error('killed'));
      };
      const first = await run(world, await planFor(world, stack()), {}, cancel.signal);
      expect(first.result.isInterrupted || seen < at).toBe(true);
      world.beforeChange = undefined;
      const again = await run(world, await planFor(world, stack()));
      expect(again.result.failures, `change ${at}`).toEqual([]);
      expect(world.snapshot(), `change ${at}`).toEqual(whole.snapshot());
    }
  });
});

describe('a creation that meets an existing object', () => {
  test('A creation counts as done when the existing object is as wanted', async () => {
    const world = new FakeWorld();
    const plan = await planFor(world, 'kind: profile\nname: web\nconfig: { limits.memory: 1GiB }\n');
    world.objects.profile.set('web', {
      name: 'web',
      description: '',
      config: { 'limits.memory': '1GiB', 'user.x': 'y' },
      devices: {},
    });
    const { result, events } = await run(world, plan);
    expect(result.failures).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'apply_complete', note: 'it already existed as wanted' });
  });

  test('a network that an earlier request still makes is awaited before what uses it', async () => {
    const world = new FakeWorld();
    const plan = await planFor(world, 'kind: network\nname: net0\nconfig: { ipv4.address: 10.1.0.1/24 }\n');
    const network = { name: 'net0', description: '', managed: true, config: { 'ipv4.address': '10.1.0.1/24' } };
    world.objects.network.set('net0', { ...network, status: 'Pending' });
    let isDone = false;
    const running = run(world, plan).finally(() => (isDone = true));
    setTimeout(() => {
      expect(isDone).toBe(false);
      world.objects.network.set('net0', { ...network, status: 'Created' });
    }, 500);
    const { result, events } = await running;
    expect(result.failures).toEqual([]);
    expect(world.objects.network.get('net0')).toMatchObject({ status: 'Created' });
    expect(events.at(-1)).toMatchObject({ type: 'apply_complete', note: 'it already existed as wanted' });
  });

  test('A creation of which the server does not know the outcome is read, not sent again', async () => {
    const world = new FakeWorld();
    const plan = await planFor(world, 'kind: profile\nname: web\nconfig: { limits.memory: 1GiB }\n');
    const sent: string[] = [];
    world.beforeChange = (what) => {
      sent.push(what);
      world.objects.profile.set('web', {
        name: 'web',
        description: '',
        config: { 'limits.memory': '1GiB' },
        devices: {},
      });
      throw new ClientError('outcomeUnknown', 'etcd did not answer', { status: 500 });
    };
    const { result } = await run(world, plan);
    expect(result.failures).toEqual([]);
    expect(sent).toHaveLength(1);
  });

  test('A creation is stale when the existing object differs, and names the differences', async () => {
    const world = new FakeWorld();
    const plan = await planFor(world, 'kind: profile\nname: web\nconfig: { limits.memory: 1GiB }\n');
    world.objects.profile.set('web', {
      name: 'web',
      description: '',
      config: { 'limits.memory': '2GiB' },
      devices: {},
    });
    const { result } = await run(world, plan);
    expect(result.failures[0]).toMatchObject({ code: 'stale', address: 'profile/web' });
    expect(result.failures[0]?.why).toContain('config.limits.memory');
    expect(exitCodeOf(result)).toBe(3);
  });
});

describe('an update', () => {
  const before = 'kind: profile\nname: web\nconfig: { limits.memory: 1GiB }\n';
  const after = 'kind: profile\nname: web\nconfig: { limits.memory: 2GiB }\n';

  test('An update keeps keys that others wrote, also during the update', async () => {
    const world = await applied(before);
    const plan = await planFor(world, after);
    let interfered = 0;
    world.beforePut = (kind, name) => {
      if (interfered++ > 0) return;
      const object = world.objects[kind].get(name)!;
      object['config'] = { ...(object['config'] as object), 'user.note': 'mine' };
    };
    const { result } = await run(world, plan);
    expect(result.failures).toEqual([]);
    expect(interfered).toBe(2);
    expect(world.objects.profile.get('web')?.['config']).toEqual({ 'limits.memory': '2GiB', 'user.note': 'mine' });
  });

  test('An update is stale when someone changed the same key since the plan', async () => {
    const world = await applied(before);
    const plan = await planFor(world, after);
    world.objects.profile.get('web')!['config'] = { 'limits.memory': '3GiB' };
    const { result } = await run(world, plan);
    expect(result.failures[0]).toMatchObject({ code: 'stale', what: 'update profile/web' });
    expect(world.objects.profile.get('web')?.['config']).toEqual({ 'limits.memory': '3GiB' });
  });

  test('An update does nothing when someone already made the same change', async () => {
    const world = await applied(before);
    const plan = await planFor(world, after);
    world.objects.profile.get('web')!['config'] = { 'limits.memory': '2GiB' };
    const { events } = await run(world, plan);
    expect(events.at(-1)).toMatchObject({ type: 'apply_complete', note: 'it already had these values' });
    expect(world.changes).toEqual([]);
  });
});

describe('a failing step', () => {
  test('A failing step skips its dependents, lets other branches continue, and says what failed, why, and what to do', async () => {
    const world = new FakeWorld();
    world.beforeChange = (what) => {
      if (what === 'create network/web0') throw new Error('no bridge today');
    };
    const { result } = await run(world, await planFor(world, stack()));
    expect(result.failures).toHaveLength(1);
    expect(result.failures[0]).toMatchObject({ what: 'create network/web0', why: 'no bridge today', code: 'failed' });
    expect(result.failures[0]?.remedy).not.toBe('');
    expect(result.done).toContain('image/base#create');
    expect(result.skipped).toContain('container/web1#create');
    expect(exitCodeOf(result)).toBe(1);
  });

  test('A failing step with fail-fast stops all steps that have not begun', async () => {
    const world = new FakeWorld();
    world.fault = { at: 1, kind: 'refused' };
    const { result } = await run(world, await planFor(world, stack()), { parallelism: 1, failFast: true });
    expect(result.done).toEqual([]);
  });

  test('A step that exceeds the time limit of its object fails', async () => {
    const world = new FakeWorld();
    world.beforeChange = (_what, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
    const { result } = await run(world, await planFor(world, 'kind: profile\nname: a\nmanage: { timeout: 1s }\n'));
    expect(result.failures[0]).toMatchObject({ code: 'timeout', why: 'it did not end within 1 s' });
  });
});

describe('interruption', () => {
  test('The first signal lets running steps end and starts no further ones', async () => {
    const world = new FakeWorld();
    const stop = new AbortController();
    world.beforeChange = () => stop.abort();
    const { result } = await run(world, await planFor(world, stack()), { parallelism: 1, stop: stop.signal });
    expect(result.done).toHaveLength(1);
    expect(result.failures).toEqual([]);
    expect(result.isInterrupted).toBe(true);
    expect(exitCodeOf(result)).toBe(130);
  });

  test('The second signal cancels the running steps, which are reported as interrupted', async () => {
    const world = new FakeWorld();
    const cancel = new AbortController();
    world.beforeChange = (_what, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
        cancel.abort(new Error('second'));
      });
    const { result } = await run(world, await planFor(world, stack()), { parallelism: 1 }, cancel.signal);
    expect(result.failures[0]?.code).toBe('interrupted');
    expect(exitCodeOf(result)).toBe(130);
  });
});

describe('a call without effect', () => {
  const refusals = {
    'a server that is not ready (503)': new ClientError('unavailable', 'starting up', { status: 503 }),
    'no connection at all': new ClientError('unreachable', 'refused', {
      cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    }),
  };
  test.each(Object.entries(refusals))('A call without effect is repeated: %s', async (_name, refusal) => {
    const world = new FakeWorld();
    let left = 3;
    world.beforeChange = () => {
      if ((left -= 1) > 0) throw refusal;
    };
    const { result } = await run(world, await planFor(world, 'kind: profile\nname: web\n'));
    expect(result.failures).toEqual([]);
    expect(world.objects.profile.has('web')).toBe(true);
  });

  test('Remaining steps are not tried after one step could not reach the server in all its attempts', async () => {
    const world = new FakeWorld();
    let calls = 0;
    world.beforeChange = () => {
      calls += 1;
      throw refusals['no connection at all'];
    };
    const many = ['a', 'b', 'c'].map((name) => `kind: profile\nname: ${name}\n`).join('---\n');
    const { result, events } = await run(world, await planFor(world, many), { parallelism: 1 });
    expect(result.failures.map(({ address, code }) => [address, code])).toEqual([['profile/a', 'unreachable']]);
    expect(calls).toBe(5);
    expect(result.skipped.length).toBe(2);
    expect(events.at(-1)).toMatchObject({
      type: 'apply_skipped',
      because: 'the server cannot be reached',
      isOneOfAll: true,
    });
  });

  test.each([400, 403, 500])('A call is not repeated after an answer with %i', async (status) => {
    const world = new FakeWorld();
    let calls = 0;
    world.beforeChange = () => {
      calls += 1;
      throw new ClientError('badRequest', 'no', { status });
    };
    const { result } = await run(world, await planFor(world, 'kind: profile\nname: web\n'));
    expect(result.failures.length).toBe(1);
    expect(calls).toBe(1);
  });
});
