// Objects inside a container that an apply renamed before it failed: their states have its former name, and a refresh follows it.
import { expect, test } from 'vitest';
import type { Link } from '../../../provider/connection/link.ts';
import { DiagnosticError, failure } from '../../../provider/framework/diagnostic.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import { readResource } from '../../../provider/framework/read-resource.ts';
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

const explain = (what: string, error: unknown) =>
  error instanceof DiagnosticError ? error.diagnostics : [failure(what, String(error))];

type Refreshed = Awaited<ReturnType<typeof readResource>>;

async function refresh(kind: AnyResource<Link>, container: string, born: string): Promise<Refreshed> {
  const provider = { explain } as unknown as AnyProvider<Link>;
  const empty = Object.fromEntries(Object.keys(kind.attributes).map((name) => [name, null]));
  const state = { ...empty, container, name: 'inside' };
  const deps = { provider, resource: kind, client, stopping: new AbortController().signal };
  const found = await readResource(deps, state, { container_created_at: born });
  expect(found.diagnostics).toEqual([]);
  return found;
}

test.each([
  ['device', containerDevice],
  ['command', containerExec],
  ['snapshot', snapshot],
])('A %s stays in the state when its container got another name, and leaves it with the container', async (_, kind) => {
  expect((await refresh(kind, 'old', 'first')).state).toMatchObject({ container: 'new' });
  expect((await refresh(kind, 'old', 'gone')).state).toBeNull();
});

/** The errors of a plan for an object in a container of that name. */
async function plan(kind: AnyResource<Link>, { state, privateData }: Refreshed, container: string): Promise<string[]> {
  const input = { config: { ...state, container }, prior: state, isImported: false, privateData };
  const { diagnostics } = await planResource({ resource: kind, client: undefined, explain }, input);
  return diagnostics.flatMap(({ severity, summary }) => (severity === 'error' ? [summary] : []));
}

test.each([
  ['device', containerDevice],
  ['command', containerExec],
  ['snapshot', snapshot],
])('A plan refuses to replace a %s in a container that somebody renamed', async (_, kind) => {
  const lost = await refresh(kind, 'old', 'first');
  expect(await plan(kind, lost, 'old')).toEqual(['The container old was renamed to new']);
  expect(await plan(kind, lost, 'new')).toEqual([]);
  expect(await plan(kind, await refresh(kind, 'new', 'first'), 'old')).toEqual([]);
});
