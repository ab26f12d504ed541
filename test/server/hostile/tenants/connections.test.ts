// A tenant makes the server connect for it: images by address, from other servers, migrations. It reaches nothing in the internal network,
// and learns nothing about listeners there.
import { lookup } from 'node:dns/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { findDirect } from '../../../../server/drivers/remote/direct-protocol.ts';
import { defaultLimits } from '../../../../server/drivers/remote/driver.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';
import { imageTar } from '../../../support/hostile/shared-host.ts';
import { metadataFile, tarOf } from '../../../support/images/hostile.ts';
import {
  fakeServer,
  serveDirect,
  serveTree,
  sha256,
  streamTree,
  type FakeServer,
  type Handler,
} from '../../../support/images/remotes.ts';

const suite = useSharedHost('conn');
const servers: FakeServer[] = [];
const serve = async (scheme: 'http' | 'https', handle: Handler): Promise<FakeServer> => {
  const server = await fakeServer(scheme, handle);
  servers.push(server);
  return server;
};
afterEach(async () => {
  await suite.host.admin.call('PATCH', '/1.0/projects/mine', { config: { 'restricted.remotes.networks': '' } });
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const own = '?project=mine';
const allow = async (networks: string): Promise<void> => {
  const config = { 'restricted.remotes.networks': networks };
  expect((await suite.host.admin.call('PATCH', '/1.0/projects/mine', { config })).status).toBe(200);
};
/** The error that it ends with; empty: it succeeds. */
async function asked(path: string, body: object): Promise<string> {
  const answer = await suite.host.tenant('POST', `${path}${own}`, body);
  if (answer.status !== 202) return answer.bytes.toString();
  return (await suite.host.admin.wait(answer.body.operation as string)).err;
}
const byUrl = (url: string, more: object = {}): Promise<string> =>
  asked('/1.0/images', { source: { type: 'url', url }, ...more });
const rule = /no address, or one that may not be asked: .* restricted\.remotes\.networks of the project mine/;

describe('an image by its address', () => {
  test.each(['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]', '0'])(
    'is not fetched from %s, and an open port is told like a closed one',
    async (host) => {
      const server = await serve('http', serveDirect(imageTar()));
      const { port } = new URL(server.url);
      const told = await Promise.all([port, '1'].map((each) => byUrl(`http://${host}:${each}/x`)));
      expect(told[0]).toMatch(rule);
      expect(told[1]?.replace(':1/', `:${port}/`)).toBe(told[0]);
      expect(server.asked).toEqual([]);
    },
  );

  test.each(['169.254.169.254', '10.0.0.1', '192.168.0.1', '[fe80::1]', '[fd00::1]', '[::1]'])(
    'is not fetched from %s',
    async (host) => expect(await byUrl(`http://${host}/latest/meta-data`)).toMatch(rule),
  );

  test('is not fetched from another place that an allowed server names: by a redirect, or by the address of its file', async () => {
    const inside = await serve('http', serveDirect(imageTar()));
    const { port } = new URL(inside.url);
    const outside = await serve('http', (_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.2:${port}/x` }).end();
    });
    await allow('127.0.0.1');
    expect(await byUrl(outside.url)).toMatch(rule);
    outside.handle = serveDirect(imageTar(), { location: `http://127.0.0.2:${port}/files/image.tar` });
    expect(await byUrl(outside.url)).toMatch(rule);
    expect(inside.asked).toEqual([]);
  });

  test('is not fetched when the name has another address by the time of the connection', async () => {
    const server = await serve('http', serveDirect(imageTar()));
    const { port } = new URL(server.url);
    // The first DNS answer counts as public, the second is checked for real.
    let left = (await lookup('localhost', { all: true })).length;
    const reach = {
      get allowed() {
        return (left -= 1) >= 0 ? ['127.0.0.0/8', '::1'] : [];
      },
      rule: 'the rule of a test',
    };
    const proxies = { http: '', https: '', ignoreHosts: '' };
    const options = { certificate: '', proxies, limits: defaultLimits, userAgent: 'test', version: '1', reach };
    const wanted = { alias: '', fingerprint: '', secret: '', project: '', architectures: [], fresh: false };
    const place = { server: `http://localhost:${port}/x`, protocol: 'direct', certificate: '' } as const;
    const found = findDirect(options, place, wanted, new AbortController().signal);
    await expect(found).rejects.toMatchObject({
      code: 'Invalid',
      cause: { message: expect.stringContaining('no address') },
    });
    expect(left).toBeLessThan(0);
    expect(server.asked).toEqual([]);
  });

  test('is fetched from networks that the project lists', async () => {
    const image = imageTar();
    const server = await serve('http', serveDirect(image));
    await allow('127.0.0.0/8');
    expect(await byUrl(server.url)).toBe('');
    expect((await suite.host.tenant('GET', `/1.0/images/${sha256(image)}${own}`)).status).toBe(200);
  });

  test('is fetched from anywhere for a client without restrictions', async () => {
    const server = await serve('http', serveDirect(imageTar()));
    const ended = await suite.host.admin.run('POST', `/1.0/images${own}`, { source: { type: 'url', url: server.url } });
    expect(ended.err).toBe('');
  });
});

test.each(['svc', 'simplestreams'])(
  'an image or a container of a server (%s) of the inside is not had',
  async (protocol) => {
    const server = await serve('https', (_request, response) => void response.writeHead(404).end());
    const source = {
      type: 'image',
      mode: 'pull',
      server: server.url,
      protocol,
      alias: 'x',
      certificate: server.certificate,
    };
    expect(await asked('/1.0/images', { source })).toMatch(rule);
    expect(await asked('/1.0/containers', { name: suite.fresh(), source })).toMatch(rule);
    expect(server.asked).toEqual([]);
  },
);

test('the refresh of an image that a tenant had fetched reaches no further than the tenant', async () => {
  const metadata = tarOf(metadataFile);
  const rootfs = tarOf({ name: './', flag: '5' });
  const product = { aliases: 'busy/1.0', arch: 'amd64', versions: { '20240101': { metadata, rootfs } } };
  const server = await serve('http', serveTree(streamTree({ a: product })));
  await allow('127.0.0.0/8');
  const source = { type: 'image', mode: 'pull', server: server.url, protocol: 'simplestreams', alias: 'busy/1.0' };
  expect(await asked('/1.0/images', { source, auto_update: true })).toBe('');
  const image = `/1.0/images/${sha256(metadata, rootfs)}`;
  expect(Object.keys((await suite.host.tenant('GET', `${image}${own}`)).metadata.update_source)).not.toContain(
    'isConfined',
  );
  const refreshed = () => suite.host.admin.run('POST', `${image}/refresh${own}`);
  expect((await refreshed()).err).toBe('');
  await allow('');
  const before = server.asked.length;
  expect((await refreshed()).err).toMatch(rule);
  expect(server.asked).toHaveLength(before);
});

test('a migration neither from nor to the internal network connects, and an open port is reported like a closed one', async () => {
  const server = await serve('https', (_request, response) => void response.end());
  const { port } = new URL(server.url);
  const at = (each: string) => ({
    operation: `https://127.0.0.1:${each}/1.0/operations/x`,
    certificate: server.certificate,
    secrets: { control: 'a', fs: 'b' },
  });
  for (const each of [port, '1']) {
    const source = { type: 'migration', mode: 'pull', ...at(each) };
    expect(await asked('/1.0/containers', { name: suite.fresh(), source })).toMatch(rule);
    const sent = { name: 'own', migration: true, target: at(each) };
    expect(await asked('/1.0/containers/own', sent)).toMatch(rule);
    const volume = { name: suite.fresh(), type: 'custom', source };
    expect(await asked('/1.0/storage-pools/default/volumes/custom', volume)).toMatch(rule);
    expect(
      await asked('/1.0/storage-pools/default/volumes/custom/data', {
        name: 'data',
        migration: true,
        target: at(each),
      }),
    ).toMatch(rule);
  }
  expect(server.asked).toEqual([]);
});
