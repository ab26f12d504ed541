// Files of a stopped container below its disk devices: the state keeps them, and a write says why it is refused.
import { describe, expect, test } from 'vitest';
import type { Container } from '../../../server/api/container/container.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { applyChange, type Applied } from '../../../provider/framework/apply.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { ResourceDeps } from '../../../provider/framework/operation.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import { readResource } from '../../../provider/framework/read-resource.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { containerFile } from '../../../provider/resources/container/container-file-resource.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { liveContainer } from '../../support/fakes/worlds.ts';

const devices = { data: { type: 'disk', pool: 'default', source: 'data', path: '/data' } };
const nullsOf = (resource: AnyResource<Link>): ValueMap =>
  Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));

/** A server with one container whose root file system has no files; `done` lists what changed. */
class World {
  readonly done: string[] = [];
  live: Container;

  constructor(status: 'Running' | 'Stopped') {
    this.live = liveContainer('web', { status, status_code: status === 'Running' ? 103 : 102, devices });
  }

  deps(resource: AnyResource<Link>): ResourceDeps<Link> {
    const seen = () => ({ ...this.live, expanded_config: {}, expanded_devices: devices });
    const client = {
      get: async () => ({ metadata: seen(), etag: 'e' }),
      create: async () => ({}),
      put: async () => ({}),
      putContainerState: async (_name: string, { action }: { readonly action: string }) => {
        this.done.push(action);
        this.live = { ...this.live, status: 'Running', status_code: 103 };
        return {};
      },
      operations: { run: (begin: () => Promise<unknown>) => begin() },
      http: {
        open: async () => {
          throw new ClientError('notFound', 'no such file', { status: 404 });
        },
        send: async ({ method, query }: { readonly method: string; readonly query: { readonly path: string } }) => {
          this.done.push(`${method} ${query.path}`);
          return {};
        },
      },
    };
    const link = {
      client,
      server: { api_extensions: [], environment: { server: 'gantry' } },
      reader: { written() {}, read: async () => ({ object: seen(), etag: 'e' }) },
      activity: { during: (work: () => Promise<unknown>) => work() },
    };
    const explain = (what: string, error: unknown) => [failure(what, String(error))];
    const provider = { explain } as unknown as AnyProvider<Link>;
    return { provider, resource, client: link as unknown as Link, stopping: new AbortController().signal };
  }

  apply(resource: AnyResource<Link>, prior: ValueMap | null, planned: ValueMap | null): Promise<Applied> {
    const input = { prior, planned, config: planned ?? nullsOf(resource), privateData: {} };
    return applyChange(this.deps(resource), input as Parameters<typeof applyChange>[1]);
  }
}

const file: ValueMap = {
  ...nullsOf(containerFile),
  container: 'web',
  path: '/data/a',
  type: 'file',
  content: 'x',
  mode: '0644',
  uid: 0,
  gid: 0,
  sha256: 'abc',
};

describe('a file on a disk device of a stopped container', () => {
  test('A refresh keeps its state; the file of a running container that lacks it is gone', async () => {
    const refreshed = async (status: 'Running' | 'Stopped') =>
      (await readResource(new World(status).deps(containerFile), file, {})).state;
    expect(await refreshed('Stopped')).toEqual(file);
    expect(await refreshed('Running')).toBeNull();
  });

  test('A write is refused with the device and the remedy', async () => {
    const world = new World('Stopped');
    const { diagnostics } = await world.apply(containerFile, null, file);
    expect(JSON.stringify(diagnostics)).toContain('is on its disk device data, which is mounted at /data only while');
    expect(world.done).toEqual([]);
  });

  test('A removal leaves it in place with a warning', async () => {
    const world = new World('Stopped');
    const { state, diagnostics } = await world.apply(containerFile, file, null);
    expect(state).toBeNull();
    expect(diagnostics).toMatchObject([{ severity: 'warning' }]);
    expect(world.done).toEqual([]);
  });

  test('A container that starts gets its other files before the start, and this one after it', async () => {
    const world = new World('Stopped');
    const spec = { content: 'x', source: null, mode: '0644', uid: 0, gid: 0, sha256: 'abc' };
    const written = { name: 'web', description: '', ephemeral: false, config: {}, devices, profiles: ['default'] };
    const settled = { running: true, allow_restart: true, stop_timeout: 0, wait_for: [], architecture: 'x86_64' };
    const state: ValueMap = {
      ...nullsOf(container),
      ...written,
      ...settled,
    };
    const planned = { ...state, files: { '/data/a': spec, '/etc/b': spec } };
    await world.apply(container, { ...state, files: null, running: false }, planned);
    const changes = world.done.filter((one) => /^POST .*\/[ab]$|start/.test(one));
    expect(changes).toEqual(['POST /etc/b', 'start', 'POST /data/a']);
  });
});
