// Objects inside a container that an apply renamed before it failed: their states have its former name, and a refresh follows it.
import { expect, test } from 'vitest';
import type { Link } from '../../../provider/connection/link.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import { readResource } from '../../../provider/framework/read-resource.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import { containerDevice } from '../../../provider/resources/container/container-device.ts';
import { containerExec } from '../../../provider/resources/container/container-exec-resource.ts';
import { snapshot } from '../../../provider/resources/container/snapshot.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { liveContainer } from '../../support/fakes/worlds.ts';

const live = [
  liveContainer('new', { created_at: 'first', devices: { inside: { type: 'none' } } }),
  liveContainer('other', { created_at: 'second', devices: { inside: { type: 'none' } } }),
];
const path = '/1.0/containers/new/snapshots/inside';
const client = {
  client: {
    list: async () => live,
    http: {
      send: async (call: { readonly path: string }) => {
        if (call.path !== path) throw new ClientError('notFound', 'not found', { status: 404 });
        return { metadata: { stateful: false, expires_at: '0001-01-01T00:00:00Z', created_at: 'then' } };
      },
    },
  },
  reader: {
    read: async (_kind: string, name: string) => {
      const object = live.find((one) => one.name === name);
      return object === undefined ? undefined : { object };
    },
  },
} as unknown as Link;

async function read(resource: AnyResource<Link>, container: string, born: string): Promise<ValueMap | null> {
  const explain = (what: string, error: unknown) => [failure(what, String(error))];
  const deps = { provider: { explain } as unknown as AnyProvider<Link>, resource, client };
  const empty = Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));
  const state = { ...empty, container, name: 'inside' };
  const found = await readResource({ ...deps, stopping: new AbortController().signal }, state, {
    container_created_at: born,
  });
  expect(found.diagnostics).toEqual([]);
  return found.state;
}

test.each([
  ['device', containerDevice],
  ['command', containerExec],
  ['snapshot', snapshot],
])('A %s stays in the state when its container got another name, and leaves it with the container', async (_, kind) => {
  expect(await read(kind, 'old', 'first')).toMatchObject({ container: 'new' });
  expect(await read(kind, 'old', 'gone')).toBeNull();
});
