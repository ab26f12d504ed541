// A client with several addresses of a cluster: it continues with the next member, and repeats only what cannot have arrived.
import { afterEach, beforeAll, expect, test } from 'vitest';
import { createClient, type Client } from '../../server/client/client.ts';
import { remedyFor, type ClientError } from '../../server/client/client-error.ts';
import { parseEndpoints, renderEndpoints } from '../../server/client/transport/host-endpoint.ts';
import { makeClient, type ClientCertificate } from '../support/daemons/tls.ts';
import { freePort } from '../support/hosts/free-port.ts';
import { startFakeDaemon, type FakeDaemon, type FakeHandler } from '../support/fakes/http-daemon.ts';

let pair: ClientCertificate;
beforeAll(async () => (pair = await makeClient('cluster')));
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const made: FakeHandler = () => ({ sync: {} });
const list: FakeHandler = () => ({ sync: [{ name: 'default' }] });
const path = '/1.0/profiles';

async function member(routes: Record<string, FakeHandler> = {}, own = pair): Promise<FakeDaemon> {
  const tls = { certificate: own.certPem, key: own.keyPem };
  const daemon = await startFakeDaemon({ tls, routes: { [`POST ${path}`]: made, [`GET ${path}`]: list, ...routes } });
  cleanups.push(() => daemon.stop());
  return daemon;
}
function over(...hosts: readonly string[]): Client {
  const client = createClient(hosts.join(','), { tls: { serverCertificate: pair.certPem } });
  cleanups.push(() => client.close());
  return client;
}
const nowhere = async (): Promise<string> => `https://127.0.0.1:${await freePort()}`;
const asked = (daemon: FakeDaemon): string[] =>
  daemon.requests.filter((one) => one.path === path).map(({ method }) => method);
const failure = (call: Promise<unknown>): Promise<ClientError> =>
  call.then(
    () => expect.unreachable('it succeeded'),
    (error: unknown) => error as ClientError,
  );
const hangUp: FakeHandler = () => ({ hangUp: true });

test('several addresses are https, with commas between', () => {
  expect(renderEndpoints(parseEndpoints('https://a, https://b:99,https://[::1]'))).toBe(
    'https://a:8443,https://b:99,https://[::1]:8443',
  );
  expect(parseEndpoints('unix:///a,b')).toEqual([{ kind: 'unix', path: '/a,b' }]);
  for (const bad of ['https://a,', 'https://a,b', 'https://a,unix:///b', 'https://a,/b'])
    expect(() => parseEndpoints(bad), bad).toThrow(/not understood|one of several/);
});

test('a call that never left goes to the next member, whatever it asks, and the later ones follow it', async () => {
  const two = await member();
  const client = over(await nowhere(), two.host);
  await client.create('profile', { name: 'web' });
  expect(await client.list('profile')).toEqual([{ name: 'default' }]);
  expect(asked(two)).toEqual(['POST', 'GET']);
});

test('a change whose connection breaks is not repeated: its outcome is unknown, and the next call goes on elsewhere', async () => {
  const one = await member({ [`POST ${path}`]: hangUp });
  const two = await member();
  const client = over(one.host, two.host);
  const error = await failure(client.create('profile', { name: 'web' }));
  expect([error.code, remedyFor(error, false)]).toEqual(['unreachable', 'reread']);
  expect(error.message).toContain(one.host);
  expect(asked(two)).toEqual([]);
  await client.list('profile');
  expect([asked(one), asked(two)]).toEqual([['POST'], ['GET']]);
});

test('a read whose connection breaks, or that a member cannot serve now, is asked of the next one', async () => {
  const busy: FakeHandler = () => ({ error: 503, message: 'starting' });
  for (const answer of [hangUp, busy]) {
    const one = await member({ [`GET ${path}`]: answer });
    const two = await member();
    expect(await over(one.host, two.host).list('profile')).toEqual([{ name: 'default' }]);
    expect([asked(one), asked(two)]).toEqual([['GET'], ['GET']]);
  }
});

test('a member with another certificate gets nothing, and is not passed over', async () => {
  const strange = await member({}, await makeClient('other'));
  const two = await member();
  const error = await failure(over(strange.host, two.host).create('profile', { name: 'web' }));
  expect(error.code).toBe('untrusted');
  expect([asked(strange), asked(two)]).toEqual([[], []]);
});

test('when none answers, the error says so, and a member that comes back is found', async () => {
  const gone = [await nowhere(), await nowhere()];
  const error = await failure(over(...gone).create('profile', { name: 'web' }));
  expect(error.code).toBe('unreachable');
  expect(error.message).toMatch(/connection refused/);
});

test('an operation is followed through the next member when the asked one goes away, and is lost when no member knows it', async () => {
  const begin = async () => {
    const one = await member({ [`POST ${path}`]: () => ({ async: operation }) });
    const two = await member();
    const operation = one.newOperation();
    const client = over(one.host, two.host);
    let isBegun = false;
    const ended = client.operations.run(
      () => client.create('profile', { name: 'web' }),
      undefined,
      () => (isBegun = true),
    );
    return { one, two, operation, ended, isBegun: () => isBegun };
  };
  const known = await begin();
  await expect.poll(known.isBegun, { timeout: 30_000 }).toBe(true);
  known.two.operations.set(known.operation.id, known.operation);
  await known.one.stop();
  known.two.finish(known.operation);
  expect((await known.ended).operation).toMatchObject({ status: 'Success' });

  const lost = await begin();
  const error = failure(lost.ended);
  await expect.poll(lost.isBegun, { timeout: 30_000 }).toBe(true);
  await lost.one.stop();
  expect([(await error).code, remedyFor(await error, false)]).toEqual(['operationLost', 'reread']);
});
