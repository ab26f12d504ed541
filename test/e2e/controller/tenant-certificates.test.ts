// Sets of a tenant with its own certificate: gantryd refuses their actions outside the tenant's project even if the controller's checks
// have a hole. This test disables all of those checks.
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type * as Worlds from '../../support/controller/world.ts';
import { makeTenant, type Tenant } from '../../support/cli/tenant.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { until } from '../../support/until.ts';

/** Loads the controller's modules again without its tenant checks. */
async function openFence(): Promise<typeof Worlds> {
  register('../../support/controller/without-tenant-checks.mjs', import.meta.url);
  return await import(new URL('../../support/controller/world.ts?without-tenant-checks', import.meta.url).href);
}

let opened: Awaited<ReturnType<typeof openFence>>;
let daemon: TestDaemon;
let shop: Tenant;
let wide: Tenant;
let admin: Tenant;
let world: Worlds.ControllerWorld;

beforeAll(async () => {
  opened = await openFence();
  daemon = await makeDaemon({ https: '127.0.0.1:0' });
  await makeProject(daemon, 'shop');
  await makeProject(daemon, 'payroll');
  const cert = join(daemon.dir, 'server.crt');
  shop = await makeTenant(daemon, cert, ['shop']);
  wide = await makeTenant(daemon, cert, ['shop', 'payroll']);
  admin = await makeTenant(daemon, cert, []);
  const all = (await daemon.get('/1.0/certificates?recursion=1')) as readonly {
    projects: string[];
    fingerprint: string;
  }[];
  const open = all.find(({ projects }) => projects.length === 0);
  await daemon.call('PATCH', `/1.0/certificates/${open?.fingerprint ?? ''}`, { restricted: false });
});
afterAll(async () => {
  for (const one of [shop, wide, admin]) one?.remove();
  await daemon?.cleanUp();
});
beforeEach(async () => {
  world = await opened.openControllerWorld(0);
});
afterEach(() => world.close());

const address = (): string => `https://${daemon.daemon.httpsAddress() ?? ''}`;

async function start(certificate: Tenant | undefined, text: string, host = address()): Promise<void> {
  const server = `server_cert: ${join(daemon.dir, 'server.crt')}`;
  const own = `client_cert: ${admin.cert}, client_key: ${admin.key}`;
  const more = host.startsWith('unix') ? '' : `, ${server}, ${own}`;
  writeFileSync(join(world.folder, 'hosts.yaml'), `kind: hosts\nhosts:\n  - { name: h1, address: "${host}"${more} }\n`);
  await world.write('a.yaml', text);
  const its = certificate === undefined ? '' : `, certificate: { cert: ${certificate.cert}, key: ${certificate.key} }`;
  await world.start(`hosts: { file: hosts.yaml }
sources: [{ name: repo, directory: { path: manifests, interval: 200ms } }]
sets: [{ name: web, source: repo, prune: { max: 100% }, retry: { first: 200ms, longest: 500ms } }]
tenants: [{ name: shop, sources: [{ name: repo }], hosts: [h1], kinds: [profile], names: [shop-*], projects: [shop]${its} }]
`);
}

const profile = (name: string, more = ''): string => `kind: profile\nname: ${name}\n${more}config: { user.note: x }\n`;
const has = async (project: string, name: string): Promise<boolean> =>
  (await daemon.call('GET', `/1.0/profiles/${name}?project=${project}`)).status === 200;
const state = () => world.engine.overview().sets[0]?.hosts[0];
const said = (): string =>
  world.hub
    .lines({ limit: 500 })
    .map(({ message }) => message)
    .join('\n');

test('a set connects with the certificate of its tenant, works in its project, and deletes there', async () => {
  await start(shop, `${profile('shop-a')}---\n${profile('shop-b')}`);
  await opened.hasStatus(world, 'web', 'synced');
  expect([await has('shop', 'shop-a'), await has('default', 'shop-a')]).toEqual([true, false]);
  await daemon.call('PATCH', '/1.0/profiles/shop-a?project=shop', { config: { 'user.note': 'by hand' } });
  const note = async (): Promise<unknown> =>
    (await daemon.call('GET', '/1.0/profiles/shop-a?project=shop')).metadata.config['user.note'];
  await until(async () => (await note()) === 'x', opened.waitMs);
  await world.write('a.yaml', profile('shop-a'));
  await until(async () => !(await has('shop', 'shop-b')), opened.waitMs);
});

test.each([
  ['a profile in the project of another team', profile('shop-p', 'project: payroll\n'), 'payroll'],
  ['a change of the config of the server', 'kind: server_config\nname: server\nconfig: { user.mine: x }\n', undefined],
] as const)('gantryd refuses %s without the checks of the controller', async (_what, text, place) => {
  await start(shop, `${profile('shop-ok')}---\n${text}`);
  await until(() => state()?.status === 'failed', opened.waitMs);
  if (place !== undefined) expect(await has(place, 'shop-p')).toBe(false);
  expect((await daemon.get('/1.0')).config).not.toHaveProperty(['user.mine']);
});

test('the same document is applied with the certificate of the controller, so the refusal comes from the daemon', async () => {
  await start(undefined, profile('shop-p', 'project: payroll\n'));
  await until(() => has('payroll', 'shop-p'), opened.waitMs);
  await daemon.call('DELETE', '/1.0/profiles/shop-p?project=payroll');
});

test.each([
  ['reaches another project', () => wide, 'reaches payroll on h1, and nothing is changed with it'],
  ['is not restricted', () => admin, 'reaches all of the host on h1, and nothing is changed with it'],
])('a certificate that %s is not used', async (_what, certificate, message) => {
  await start(certificate(), profile('shop-never'));
  await until(() => said().includes(message), opened.waitMs);
  expect(said()).toContain('gantry trust add shop --restricted --projects shop');
  expect(await has('shop', 'shop-never')).toBe(false);
});

test('a host reached through its socket gets nothing from a tenant with a certificate', async () => {
  await start(shop, profile('shop-never'), `unix://${daemon.socketPath}`);
  await until(() => said().includes('h1 is reached by its socket'), opened.waitMs);
  expect(await has('shop', 'shop-never')).toBe(false);
});

test('a certificate that reaches more than its project from some moment on brings nothing further to the host', async () => {
  const own = await makeTenant(daemon, join(daemon.dir, 'server.crt'), ['shop']);
  try {
    await start(own, profile('shop-c'));
    await opened.hasStatus(world, 'web', 'synced');
    const change = (projects: readonly string[]): Promise<unknown> =>
      daemon.call('PATCH', `/1.0/certificates/${fingerprintOf(own)}`, { projects });
    await change(['shop', 'payroll']);
    await world.write('a.yaml', profile('shop-d'));
    await until(() => state()?.error?.includes('reaches payroll on h1') === true, opened.waitMs);
    expect(await has('shop', 'shop-d')).toBe(false);
    await change(['shop']);
    await until(() => has('shop', 'shop-d'), opened.waitMs);
  } finally {
    own.remove();
  }
});

test('a certificate that is taken away while a run works stops it, and the rest follows when it is trusted again', async () => {
  const own = await makeTenant(daemon, join(daemon.dir, 'server.crt'), ['shop']);
  try {
    const names = Array.from({ length: 150 }, (_, at) => `shop-r${at}`);
    const there = async (): Promise<number> =>
      ((await daemon.get('/1.0/profiles?project=shop')) as readonly string[]).filter((url) => url.includes('shop-r'))
        .length;
    await start(own, names.map((name) => profile(name)).join('---\n'));
    await until(async () => (await there()) > 3, opened.waitMs);
    await daemon.call('DELETE', `/1.0/certificates/${fingerprintOf(own)}`);
    const atMost = await there();
    expect(atMost).toBeLessThan(150);
    await until(() => said().includes('this needs a trusted client certificate'), opened.waitMs);
    expect(await there()).toBe(atMost);
    const certificate = new X509Certificate(readFileSync(own.cert)).raw.toString('base64');
    const body = { type: 'client', name: 'again', certificate, restricted: true, projects: ['shop'] };
    await daemon.call('POST', '/1.0/certificates', body);
    await until(async () => (await there()) === 150, opened.waitMs);
  } finally {
    own.remove();
  }
});

const fingerprintOf = ({ cert }: Tenant): string =>
  createHash('sha256')
    .update(new X509Certificate(readFileSync(cert)).raw)
    .digest('hex');
