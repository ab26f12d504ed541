// A change of a running container that takes effect at a start: while the restart has not come, no plan is empty.
import { describe, expect, test } from 'vitest';
import type { Container } from '../../../server/api/container/container.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { applyChange, type Applied } from '../../../provider/framework/apply.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import { readResource } from '../../../provider/framework/read-resource.ts';
import type { ResourceDeps } from '../../../provider/framework/operation.ts';
import { unknownValue, type ValueMap } from '../../../provider/framework/value.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { notedRestartKey } from '../../../provider/resources/shared/noted-restart.ts';
import { isNote } from '../../../reconciler/core/ownership/owner-records.ts';
import { isNoteKey } from '../../../server/api/container/container-config.ts';
import { liveContainer } from '../../support/fakes/worlds.ts';

const resource: AnyResource<Link> = container;
const explain = (what: string, error: unknown) => [failure(what, String(error))];
const attributes = Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));

/** Terraform with one running container: `failing` says which request fails, and how. */
class World {
  live: Container = liveContainer('web', { last_used_at: 'first', config: {} });
  isDeleted = false;
  failing: 'put-refused' | 'put-lost' | 'stop' | undefined;
  state: ValueMap = { ...attributes };
  privateData: Record<string, string> = {};
  #starts = 0;

  constructor() {
    const written = { name: 'web', description: '', ephemeral: false, config: {}, devices: {}, running: true };
    const shown = { allow_restart: true, stop_timeout: 0, wait_for: [], restart_pending: false, status: 'Running' };
    this.state = { ...attributes, ...written, ...shown, architecture: 'x86_64', profiles: ['default'] };
  }

  start(): void {
    this.live = { ...this.live, status: 'Running', status_code: 103, last_used_at: `start ${(this.#starts += 1)}` };
  }

  get #deps(): ResourceDeps<Link> {
    const client = {
      get: async () => ({ metadata: this.#expanded(), etag: 'e' }),
      put: async (_kind: string, _name: string, body: object) => {
        if (this.failing === 'put-refused') throw new ClientError('badRequest', 'refused', { status: 400 });
        this.live = { ...this.live, ...body };
        if (this.failing === 'put-lost') throw new ClientError('unreachable', 'the connection broke');
        return {};
      },
      putContainerState: async (_name: string, { action }: { readonly action: string }) => {
        if (action === 'start') this.start();
        else if (action === 'restart') this.start();
        else if (this.live.ephemeral) this.isDeleted = true;
        else if (this.failing === 'stop') throw new ClientError('operationFailed', 'it does not stop');
        else this.live = { ...this.live, status: 'Stopped', status_code: 102 };
        return {};
      },
      operations: { run: (begin: () => Promise<unknown>) => begin() },
    };
    const link = {
      client,
      server: { api_extensions: [], environment: {} },
      reader: { written() {}, read: async () => ({ object: this.#expanded(), etag: 'e' }) },
      activity: { during: (work: () => Promise<unknown>) => work() },
    };
    const provider = { explain } as unknown as AnyProvider<Link>;
    return { provider, resource, client: link as unknown as Link, stopping: new AbortController().signal };
  }

  #expanded(): Container {
    return { ...this.live, expanded_config: this.live.config, expanded_devices: this.live.devices ?? {} };
  }

  async refresh(): Promise<ValueMap> {
    const read = await readResource(this.#deps, this.state, this.privateData);
    this.privateData = { ...read.privateData };
    return (this.state = read.state ?? {});
  }

  async plan(config: ValueMap) {
    const all = { ...attributes, name: 'web', stop_timeout: 0, wait_for: [], ...config };
    const given = { config: all, prior: await this.refresh(), isImported: false };
    const plan = await planResource({ resource, client: undefined, explain }, given);
    return { ...plan, config: all, said: plan.diagnostics.map(({ detail }) => detail) };
  }

  async apply(config: ValueMap): Promise<Applied> {
    const { planned, config: all } = await this.plan(config);
    const input = { prior: this.state, planned, config: all, privateData: this.privateData };
    const applied = await applyChange(this.#deps, input);
    this.privateData = { ...applied.privateData };
    this.state = applied.state ?? {};
    return applied;
  }
}

const nested = { config: { 'security.nesting': 'true' } };

describe('a restart that failed', () => {
  test.each(['stop', 'put-lost'] as const)('A later plan makes it after the failure %s', async (failing) => {
    const world = new World();
    world.failing = failing;
    expect((await world.apply(nested)).diagnostics).not.toEqual([]);
    expect(world.state).toMatchObject({ ...nested, running: true, restart_pending: true });
    world.failing = undefined;
    const { planned, said } = await world.plan(nested);
    expect(said).toEqual(['An earlier change takes effect at a start.']);
    expect(planned).toMatchObject({ restart_pending: false, status: unknownValue, ipv4_address: unknownValue });
    expect((await world.apply(nested)).diagnostics).toEqual([]);
    expect(world.live.last_used_at).toBe('start 1');
    expect(world.state).toMatchObject({ status: 'Running', restart_pending: false });
    expect((await world.plan(nested)).planned).toEqual(world.state);
  });

  test('A restart by somebody else settles it', async () => {
    const world = new World();
    world.failing = 'stop';
    await world.apply(nested);
    world.start();
    const { planned, said } = await world.plan(nested);
    expect(said).toEqual([]);
    expect(planned).toEqual(world.state);
    expect(world.state).toMatchObject({ restart_pending: false });
  });

  test('allow_restart = false leaves it to the next start, which every plan says', async () => {
    const world = new World();
    world.failing = 'stop';
    await world.apply(nested);
    const kept = { ...nested, allow_restart: false };
    await world.apply(kept);
    const { planned, said } = await world.plan(kept);
    expect(said).toEqual([expect.stringContaining('since allow_restart is false')]);
    expect(planned).toEqual(world.state);
    expect(world.state).toMatchObject({ allow_restart: false, restart_pending: true });
  });
});

describe('a provider that dies before Terraform saves what it did', () => {
  /** Applies, and forgets the state and private data of the apply. */
  async function lost(world: World, config: ValueMap): Promise<void> {
    const before = { state: world.state, privateData: world.privateData };
    await world.apply(config);
    Object.assign(world, before);
  }

  test('A later plan makes the restart that the lost apply owes', async () => {
    const world = new World();
    world.failing = 'stop';
    await lost(world, nested);
    world.failing = undefined;
    expect((await world.plan(nested)).said).toEqual(['An earlier change takes effect at a start.']);
    expect(world.state).toMatchObject({ ...nested, expanded_config: nested.config, restart_pending: true });
    expect((await world.apply(nested)).diagnostics).toEqual([]);
    expect(world.live.last_used_at).toBe('start 1');
    const { planned, said } = await world.plan(nested);
    expect([planned, said]).toEqual([world.state, []]);
  });

  test('A restart by somebody else settles it, and the next change removes the note', async () => {
    const world = new World();
    world.failing = 'stop';
    await lost(world, nested);
    world.start();
    expect((await world.plan(nested)).said).toEqual([]);
    expect(world.live.config).toHaveProperty([notedRestartKey]);
    await world.apply({ ...nested, description: 'x' });
    expect(world.live.config).toEqual(nested.config);
  });

  test('Another change in between keeps the note while the restart has not come', async () => {
    const world = new World();
    world.failing = 'stop';
    await world.apply(nested);
    const kept = { ...nested, allow_restart: false, description: 'x' };
    await lost(world, kept);
    world.privateData = {};
    expect(await world.refresh()).toMatchObject({ description: 'x', restart_pending: true });
  });

  test('The note is none of the documents of gantry, and none of what the server copies', () =>
    expect([isNote(notedRestartKey), isNoteKey(notedRestartKey)]).toEqual([true, true]));
});

test.each([
  ['a refused write', 'put-refused' as const, nested],
  ['a change that takes effect at once', undefined, { config: { 'limits.memory': '64MiB' } }],
  ['other profiles with the same keys', undefined, { profiles: ['default', 'other'] }],
])('No restart is pending after %s', async (_what, failing, config) => {
  const world = new World();
  world.failing = failing;
  await world.apply(config);
  expect(await world.refresh()).toMatchObject({ restart_pending: false });
  expect(world.privateData).not.toHaveProperty('restart');
  expect(world.live.config).not.toHaveProperty([notedRestartKey]);
});

describe('an ephemeral container, which the server deletes when it stops', () => {
  const started = async (): Promise<World> => {
    const world = new World();
    await world.apply({ ephemeral: true });
    return world;
  };

  test('survives a change that takes effect at a start', async () => {
    const world = await started();
    expect((await world.apply({ ...nested, ephemeral: true })).diagnostics).toEqual([]);
    expect([world.isDeleted, world.live.last_used_at]).toEqual([false, 'start 1']);
    expect(world.state).toMatchObject({ status: 'Running', restart_pending: false });
  });

  test('survives such a change together with the one that makes it ephemeral', async () => {
    const world = new World();
    await world.apply({ ...nested, ephemeral: true });
    expect([world.isDeleted, world.live.last_used_at]).toEqual([false, 'start 1']);
  });

  test.each([
    ['stopped', { ephemeral: true, running: false }, ['running']],
    ['renamed', { ephemeral: true, name: 'other' }, ['name']],
    ['kept and stopped', { ephemeral: false, running: false }, []],
    ['kept and renamed', { ephemeral: false, name: 'other' }, []],
  ] as const)('is replaced only if it is ephemeral afterwards: %s', async (_what, config, expected) => {
    const { replace } = await (await started()).plan(config);
    expect(replace).toEqual(expected.map((attribute) => [{ attribute }]));
  });
});
