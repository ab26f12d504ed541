// Observation of a server while an operation runs there: a busy container is read after its operation, and errors keep their kind.
import { expect, test } from 'vitest';
import type { Operation } from '../../../server/api/operation.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { codeOf } from '../../../reconciler/cli/errors/error-outcome.ts';
import { observeAll, type WholeClient } from '../../../reconciler/engine/observe/observe-all.ts';
import { FakeWorld } from '../../support/fakes/client.ts';
import { document, liveContainer } from '../../support/fakes/worlds.ts';

const documents = [
  document('container', 'c1', { files: { '/etc/motd': { type: 'file', content: 'sha256:00', mode: '0644' } } }),
];
const asked = { documents, set: 'default', nowMs: 0 };
const signal = (): AbortSignal => AbortSignal.timeout(20_000);
const busy = (): ClientError =>
  new ClientError('badRequest', 'The container c1 is busy: it is being created', { status: 400 });

/** A server with one container; `refuse` returns the error for a read of its files, if any. */
function worldWith(refuse: () => Error | undefined): {
  readonly client: WholeClient;
  readonly waited: readonly string[];
} {
  const world = new FakeWorld();
  world.objects.container.set('c1', { ...liveContainer('c1'), status: 'Pending' });
  world.contents.set('/1.0/containers/c1/files?/etc/motd', 'hello');
  const waited: string[] = [];
  const { client } = world;
  const creating = { id: 'op-1', resources: { containers: ['/1.0/containers/c1'] } } as unknown as Operation;
  const elsewhere = { id: 'op-2', resources: { containers: ['/1.0/containers/c2'] } } as unknown as Operation;
  const whole: WholeClient = {
    ...client,
    inProject: () => whole,
    http: {
      ...client.http,
      open: async (call, stop) => {
        const wrong = refuse();
        if (wrong !== undefined) throw wrong;
        return client.http.open(call, stop);
      },
    },
    operations: {
      list: async () => ['op-1', 'op-2'],
      get: async (id) => (id === 'op-1' ? creating : elsewhere),
      wait: async (operation) => {
        waited.push((operation as Operation).id);
        world.objects.container.set('c1', { ...liveContainer('c1'), status: 'Stopped' });
        return operation as Operation;
      },
    },
  };
  return { client: whole, waited };
}

test('An observation waits for a container that is being created, and then reads everything again', async () => {
  let reads = 0;
  const { client, waited } = worldWith(() => (reads++ === 0 ? busy() : undefined));
  const observed = await observeAll(client, asked, signal());
  expect(waited).toEqual(['op-1']);
  expect(observed.containers.get('c1')?.object).toMatchObject({
    status: 'Stopped',
    files: { '/etc/motd': { type: 'file' } },
  });
});

test('An observation fails with the message of the server when a container stays busy', async () => {
  const { client, waited } = worldWith(busy);
  const failure = await observeAll(client, asked, signal()).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ClientError);
  expect((failure as ClientError).message).toBe(
    'cannot read /etc/motd in container/c1: The container c1 is busy: it is being created',
  );
  expect(waited.length).toBeGreaterThan(1);
});

test('A connection that breaks while a container is read makes the host unreachable', async () => {
  const { client } = worldWith(() => new ClientError('unreachable', 'cannot reach unix:///x: other side closed'));
  const failure = await observeAll(client, asked, signal()).catch((error: unknown) => error);
  expect(String(failure)).toContain('cannot read /etc/motd in container/c1: cannot reach unix:///x');
  expect(codeOf(failure)).toBe(7);
});
