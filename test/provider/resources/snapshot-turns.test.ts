// Snapshots of a container wait for other changes of it through the same provider: a stock LXD fails one of them otherwise.
import { expect, test } from 'vitest';
import type { Link } from '../../../provider/connection/link.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import { inTurn } from '../../../provider/resources/container/container-queue.ts';
import { snapshot } from '../../../provider/resources/container/snapshot.ts';

test('A snapshot is taken and deleted after the change that began before', async () => {
  const done: string[] = [];
  const send = async ({ method }: { readonly method: string }): Promise<object> => {
    done.push(method);
    return { metadata: { created_at: 'then' } };
  };
  const link = {
    client: { operations: { run: (begin: () => Promise<unknown>) => begin() }, http: { send } },
    server: { api_extensions: [], environment: {} },
    reader: { written() {} },
    activity: { during: (work: () => Promise<unknown>) => work() },
  } as unknown as Link;
  const { signal } = new AbortController();
  type Create = Parameters<AnyResource<Link>['create']>;
  const context = { client: link, signal, mayExist() {}, wasThere: async () => false } as unknown as Create[1];
  const state = { container: 'web', name: 's', stateful: false, expires_at: null, remote: null, project: null };
  let endChange: () => void = () => undefined;
  const change = inTurn(link, 'web', () => new Promise<void>((resolve) => (endChange = resolve)));
  const waiting = [
    snapshot.create({ planned: state, config: state } as unknown as Create[0], context),
    snapshot.delete({ ...state, name: 'old', created_at: 'then' }, context),
  ];
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([]);
  endChange();
  await Promise.all([change, ...waiting]);
  expect(done).toEqual(['POST', 'GET', 'DELETE']);
});
