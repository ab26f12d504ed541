// After a failed creation the state keeps an object that may exist, and drops one that the server refused.
import { describe, expect, test } from 'vitest';
import { applyChange, type Applied } from '../../../provider/framework/apply.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { clusterMember } from '../../../provider/resources/cluster-member.ts';
import { containerExec } from '../../../provider/resources/container/container-exec-resource.ts';
import { profile } from '../../../provider/resources/profile.ts';
import { serverConfig } from '../../../provider/resources/server-config.ts';
import { edit, performCreate, performDelete, performFirst } from '../../../provider/resources/shared/write.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { liveProfile } from '../../support/fakes/worlds.ts';

type Context = Parameters<typeof performCreate>[0];
type Begin = Parameters<typeof performCreate>[1];
type ErrorOptions = ConstructorParameters<typeof ClientError>[2];

const refusedConnection: ErrorOptions = { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) };

/** Whether the object may exist after the request failed, or was answered and the wait for its operation failed. */
async function mayExistAfter(
  failure: { readonly request?: ClientError; readonly wait?: ClientError },
  wasThere = false,
): Promise<boolean> {
  let mayExist = false;
  const run = async (begin: () => Promise<unknown>): Promise<unknown> => {
    const reply = await begin();
    if (failure.wait !== undefined) throw failure.wait;
    return reply;
  };
  const client = {
    client: { operations: { run } },
    reader: { written() {} },
    activity: { during: (work: () => Promise<unknown>) => work() },
  };
  const context = {
    client,
    signal: new AbortController().signal,
    mayExist: () => (mayExist = true),
    wasThere: async () => wasThere,
    warn() {},
  };
  const begin = (): Promise<unknown> =>
    failure.request === undefined ? Promise.resolve({}) : Promise.reject(failure.request);
  await performCreate(context as unknown as Context, begin as Begin).catch(() => {});
  return mayExist;
}

describe('an object', () => {
  test.each([
    ['nothing listened', new ClientError('unreachable', 'x', refusedConnection), false],
    ['the connection broke', new ClientError('unreachable', 'x'), true],
    ['no answer came in time', new ClientError('timeout', 'x'), true],
    ['the server does not know the outcome', new ClientError('outcomeUnknown', 'x', { status: 500 }), true],
    ['the server did nothing', new ClientError('unavailable', 'x', { status: 500 }), false],
    ['the request was refused', new ClientError('badRequest', 'x', { status: 400 }), false],
  ])('An object whose creation failed because %s is in the state if it may exist', async (_why, request, expected) =>
    expect(await mayExistAfter({ request })).toBe(expected),
  );

  test.each([
    [
      'the server was gone when its operation was asked for',
      new ClientError('unreachable', 'x', refusedConnection),
      true,
    ],
    ['the server lost its operation', new ClientError('operationLost', 'x', { status: 404 }), true],
    ['its operation could no longer be read', new ClientError('forbidden', 'x', { status: 403 }), true],
    ['its operation failed', new ClientError('operationFailed', 'x'), false],
    ['its operation was cancelled', new ClientError('operationCancelled', 'x'), false],
  ])(
    'An object whose creation was accepted, after which %s, is in the state if it may exist',
    async (_why, wait, expected) => expect(await mayExistAfter({ wait })).toBe(expected),
  );

  test.each([
    ['the connection broke', { request: new ClientError('unreachable', 'x') }],
    ['the server lost its operation', { wait: new ClientError('operationLost', 'x', { status: 404 }) }],
  ])('An object that was there before is not in the state after %s: it would be deleted', async (_why, failure) =>
    expect(await mayExistAfter(failure, true)).toBe(false),
  );

  test('An object may exist after its creation', async () => expect(await mayExistAfter({})).toBe(true));
});

describe('what others may have written before', () => {
  const refused = new ClientError('badRequest', 'x', { status: 400 });
  const lost = new ClientError('unreachable', 'x');

  /** Whether the state keeps the object after its creation, with a server that answers with `send`. */
  async function isKept(resource: unknown, planned: object, send: (call: { method: string }) => Promise<unknown>) {
    let mayExist = false;
    const server = { api_extensions: ['clustering'], environment: { server_clustered: true } };
    const operations = { run: (begin: () => Promise<unknown>) => begin() };
    const link = {
      client: { operations, http: { send } },
      server,
      reader: { written() {} },
      activity: { during: (work: () => Promise<unknown>) => work() },
    };
    const signal = new AbortController().signal;
    const context = { client: link, signal, stopping: signal, privateData: {}, mayExist: () => (mayExist = true) };
    const created = resource as AnyResource<Link>;
    type Create = Parameters<AnyResource<Link>['create']>;
    const wanted = { planned: { remote: null, ...planned }, config: planned } as unknown as Create[0];
    const error = await created.create(wanted, context as unknown as Create[1]).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return { mayExist, error };
  }
  const config = { config: { 'core.https_address': ':8443' }, trust_password: null, trust_password_version: null };
  const answers = (put: () => Promise<unknown>) => (call: { method: string }) =>
    call.method === 'GET' ? Promise.resolve({ metadata: { config: config.config }, etag: 'e' }) : put();

  test('Config of the server that it refused is not in the state: the next apply would unset the former values', async () =>
    expect(
      await isKept(
        serverConfig,
        config,
        answers(() => Promise.reject(refused)),
      ),
    ).toEqual({
      mayExist: false,
      error: refused,
    }));

  test.each([
    ['whose outcome is unknown', () => Promise.reject(lost), lost],
    ['that was written', () => Promise.resolve({}), undefined],
  ])('Config of the server %s is in the state', async (_what, put, error) =>
    expect(await isKept(serverConfig, config, answers(put))).toEqual({ mayExist: true, error }),
  );

  test('A member whose takeover fails later is not in the state: the next apply would remove it from the cluster', async () => {
    const member = { metadata: { server_name: 'm2', url: '', status: 'Online', database: true } };
    expect(await isKept(clusterMember, { name: 'm2' }, () => Promise.resolve(member))).toEqual({
      mayExist: false,
      error: undefined,
    });
  });

  test.each([
    ['refused', refused, false],
    ['lost', lost, true],
  ])('A first write that was %s', async (_what, error, expected) => {
    let mayExist = false;
    const context = { signal: new AbortController().signal, mayExist: () => (mayExist = true) };
    const writing = performFirst(context as unknown as Context, () => Promise.reject(error));
    await expect(writing).rejects.toBe(error);
    expect(mayExist).toBe(expected);
  });
});

test('The command of a destroy is not left out because the container could not be read', async () => {
  const prior = { container: 'web', destroy_command: ['leave'], remote: null, project: null };
  const after = (error: ClientError): Promise<void> => {
    const get = async (): Promise<never> => {
      throw error;
    };
    const context = { client: { client: { get } }, signal: new AbortController().signal };
    return containerExec.delete(prior, context as unknown as Context);
  };
  await expect(after(new ClientError('unreachable', 'x'))).rejects.toMatchObject({ code: 'unreachable' });
  await expect(after(new ClientError('forbidden', 'x', { status: 403 }))).rejects.toMatchObject({ status: 403 });
  await expect(after(new ClientError('notFound', 'x', { status: 404 }))).resolves.toBeUndefined();
});

test('A deletion whose operation is lost is an error: nothing shows that the object is gone', async () => {
  const client = {
    client: { operations: { run: (begin: () => Promise<unknown>) => begin() } },
    reader: { written() {} },
    activity: { during: (work: () => Promise<unknown>) => work(), quietMs: () => Infinity },
  };
  const context = { client, signal: new AbortController().signal } as unknown as Context;
  const deletion = (code: string): Promise<void> =>
    performDelete(context, () => Promise.reject(new ClientError(code, 'x', { status: 404 })));
  await expect(deletion('operationLost')).rejects.toMatchObject({ code: 'operationLost' });
  await expect(deletion('notFound')).resolves.toBeUndefined();
});

test('An edit whose ETag is refused checks again whether somebody changed the object since the plan', async () => {
  let reads = 0;
  const written: unknown[] = [];
  const client = {
    client: { operations: { run: (begin: () => Promise<unknown>) => begin() } },
    reader: { written() {} },
    activity: { during: (work: () => Promise<unknown>) => work() },
  };
  const context = { client, signal: new AbortController().signal, privateData: { etag: 'e1' } };
  const put = (body: unknown, etag: string | undefined): Promise<never> => {
    if (etag === 'e1') return Promise.reject(new ClientError('preconditionFailed', 'x', { status: 412 }));
    written.push(body);
    return Promise.resolve({} as never);
  };
  const work = edit<object, object>(context as unknown as Parameters<typeof edit>[0], {
    what: 'profile "default"',
    get: () => Promise.resolve({ metadata: {}, etag: `e${(reads += 1)}` } as never),
    put,
    body: () => ({}),
    changedSince: () => ['config'],
  });
  await expect(work).rejects.toThrow();
  expect(written).toEqual([]);
});

test('An object that was there before a creation of unknown outcome is not in the state, and the reason is said', async () => {
  let isThere = true;
  const lost = new ClientError('unreachable', 'the connection broke');
  const client = {
    client: {
      operations: { run: (begin: () => Promise<unknown>) => begin() },
      create: async () => {
        isThere = true;
        throw lost;
      },
    },
    reader: { written() {}, read: async () => (isThere ? { object: liveProfile('web') } : undefined) },
    activity: { during: (work: () => Promise<unknown>) => work() },
  } as unknown as Link;
  const planned = {
    name: 'web',
    description: '',
    config: {},
    devices: {},
    remote: null,
    project: null,
    timeouts: null,
  };
  const created = async (): Promise<Applied> => {
    const provider = { explain: () => [failure('lost', '')] } as unknown as AnyProvider<Link>;
    const deps = { provider, resource: profile, client, stopping: new AbortController().signal };
    return applyChange(deps, { prior: null, planned, config: planned, privateData: {} });
  };
  const theirs = await created();
  expect(theirs.state).toBeNull();
  expect(theirs.diagnostics.map(({ summary }) => summary)).toEqual([
    'An object of this name existed before the creation',
    'lost',
  ]);
  isThere = false;
  expect((await created()).state).toMatchObject({ name: 'web' });
});
