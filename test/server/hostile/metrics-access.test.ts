// Access to metrics over TLS, and to everything else: certificates of type metrics, the metrics-only listener, and servers with open
// metrics. The verdict of promtool on the text.
import { spawnSync } from 'node:child_process';
import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { openSharedHost, type SharedHost } from '../../support/hostile/shared-host.ts';

let host: SharedHost;
let scraper: ClientCertificate;
let restricted: ClientCertificate;
let own = '';
const https = (): string => host.admin.daemon.httpsAddress() ?? '';
const set = async (config: Record<string, string>): Promise<void> => {
  const answer = await host.admin.call('PATCH', '/1.0', { config });
  expect(answer.status, answer.bytes.toString()).toBe(200);
};
const base64 = ({ certPem }: ClientCertificate): string => certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
async function add(more: object = {}): Promise<ClientCertificate> {
  const made = await makeClient();
  const body = { type: 'metrics', name: 'prometheus', certificate: base64(made), ...more };
  const answer = await host.admin.call('POST', '/1.0/certificates', body);
  expect(answer.status, answer.bytes.toString()).toBe(200);
  return made;
}
const get = (address: string, path: string, client?: ClientCertificate) =>
  callTls(address, 'GET', path, undefined, { client });

beforeAll(async () => {
  host = await openSharedHost();
  await host.admin.ok('PUT', '/1.0/containers/own/state?project=mine', { action: 'start' });
  await host.admin.ok('PUT', '/1.0/containers/victim/state?project=theirs', { action: 'start' });
  scraper = await add();
  restricted = await add({ restricted: true, projects: ['mine'] });
  own = `127.0.0.1:${await freePort()}`;
  await set({ 'core.metrics_address': own });
});
afterAll(() => host.cleanUp());

test('a certificate of type metrics reads metrics and is untrusted everywhere else', async () => {
  const answer = await get(https(), '/1.0/metrics', scraper);
  expect(answer.status).toBe(200);
  expect(answer.bytes.toString()).toContain('project="theirs"');
  expect((await get(https(), '/1.0', scraper)).metadata).toMatchObject({ auth: 'untrusted' });
  for (const path of ['/1.0/containers', '/1.0/certificates', '/1.0/operations', '/1.0/profiles/default'])
    expect((await get(https(), path, scraper)).status, path).toBe(403);
  expect((await callTls(https(), 'PATCH', '/1.0', { config: { 'user.a': 'b' } }, { client: scraper })).status).toBe(
    403,
  );
  const certificate = base64(await makeClient());
  const another = { type: 'client', certificate };
  expect((await callTls(https(), 'POST', '/1.0/certificates', another, { client: scraper })).status).toBe(403);
});

test('a restricted certificate gets metrics of its projects only', async () => {
  const found = (await get(https(), '/1.0/metrics', restricted)).bytes.toString();
  expect(found).toContain('project="mine"');
  expect(found).not.toContain('project="theirs"');
  expect(found).not.toContain('process_resident_memory_bytes');
  expect((await get(https(), '/1.0/metrics?project=theirs', restricted)).status).toBe(404);
});

test('the listener of core.metrics_address serves metrics and nothing else, also for trusted clients', async () => {
  const trusted = await add({ type: 'client' });
  for (const client of [scraper, trusted]) expect((await get(own, '/1.0/metrics', client)).status).toBe(200);
  expect((await get(own, '/1.0/metrics?project=mine', scraper)).bytes.toString()).not.toContain('project="theirs"');
  for (const path of ['/', '/1.0', '/1.0/containers', '/1.0/metrics/../containers', '/1.0/metricsx', '/1.0/events'])
    expect((await get(own, path, trusted)).status, path).toBe(404);
  const written = await callTls(own, 'PATCH', '/1.0', { config: { 'user.a': 'b' } }, { client: trusted });
  expect(written.status).toBe(404);
  expect((await callTls(own, 'POST', '/1.0/metrics', {}, { client: trusted })).status).toBe(404);
  const [at, port] = own.split(':') as [string, string];
  const key = { cert: trusted.certPem, key: trusted.keyPem, rejectUnauthorized: false };
  const socket = connect({ host: at, port: Number(port), ...key });
  socket.write(
    'GET /1.0/events HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 404 /);
});

test('untrusted callers get metrics only when core.metrics_authentication is false, and then nothing else', async () => {
  const stranger = await makeClient();
  for (const client of [undefined, stranger])
    for (const address of [https(), own]) expect((await get(address, '/1.0/metrics', client)).status).toBe(403);
  await set({ 'core.metrics_authentication': 'false' });
  for (const client of [undefined, stranger])
    for (const address of [https(), own]) expect((await get(address, '/1.0/metrics', client)).status).toBe(200);
  expect((await get(https(), '/1.0/containers', stranger)).status).toBe(403);
  expect((await get(https(), '/1.0/containers')).status).toBe(403);
  // A restricted caller stays restricted.
  expect((await get(own, '/1.0/metrics', restricted)).bytes.toString()).not.toContain('project="theirs"');
  await set({ 'core.metrics_authentication': '' });
  expect((await get(own, '/1.0/metrics')).status).toBe(403);
});

test('the type cannot change, others are refused, and a deleted certificate is untrusted at once', async () => {
  const url = `/1.0/certificates/${restricted.fingerprint}`;
  expect(await host.admin.get(url)).toMatchObject({ type: 'metrics', restricted: true, projects: ['mine'] });
  const changed = await host.admin.call('PATCH', url, { type: 'client' });
  expect([changed.status, changed.bytes.toString()]).toEqual([
    400,
    expect.stringContaining('cannot be changed from metrics to client: delete the certificate and add it again'),
  ]);
  expect((await host.admin.call('PATCH', url, { type: 'metrics', name: 'new' })).status).toBe(200);
  const strange = { type: 'server', certificate: base64(await makeClient()) };
  const refused = await host.admin.call('POST', '/1.0/certificates', strange);
  expect([refused.status, refused.bytes.toString()]).toEqual([
    400,
    expect.stringContaining('must be client or metrics, is \\"server\\"'),
  ]);
  const token = await host.admin.call('POST', '/1.0/certificates', { type: 'metrics', name: 'x', token: true });
  expect(token.status).toBe(400);
  expect((await host.admin.call('DELETE', url)).status).toBeLessThan(300);
  expect((await get(own, '/1.0/metrics', restricted)).status).toBe(403);
});

test('the listener moves, ends and comes back with the daemon; a busy address is reported', async () => {
  const busy = await host.admin.call('PATCH', '/1.0', { config: { 'core.metrics_address': https() } });
  expect([busy.status, busy.bytes.toString()]).toEqual([
    500,
    expect.stringContaining('core.metrics_address was saved, but listening on'),
  ]);
  const other = `127.0.0.1:${await freePort()}`;
  await set({ 'core.metrics_address': other });
  expect((await get(other, '/1.0/metrics', scraper)).status).toBe(200);
  await expect(get(own, '/1.0/metrics', scraper)).rejects.toThrow('ECONNREFUSED');
  await host.admin.restart();
  expect((await get(other, '/1.0/metrics', scraper)).status).toBe(200);
  await set({ 'core.metrics_address': '' });
  await expect(get(other, '/1.0/metrics', scraper)).rejects.toThrow('ECONNREFUSED');
  const wrong = await host.admin.call('PATCH', '/1.0', { config: { 'core.metrics_address': 'nine thousand' } });
  expect([wrong.status, wrong.bytes.toString()]).toEqual([400, expect.stringContaining('[::]:9100 or :9100')]);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) console.log('skipped: metrics in promtool: it is not installed (package prometheus)');
test.skipIf(!hasPromtool)('promtool reads every line of the metrics', async () => {
  const input = (await host.admin.call('GET', '/1.0/metrics')).bytes;
  const run = spawnSync('promtool', ['check', 'metrics'], { input });
  const said = `${run.stdout.toString()}${run.stderr.toString()}`;
  // 3: it reads everything but criticises names; those are LXD's.
  expect([0, 3], said).toContain(run.status);
  expect(said).not.toMatch(/error|parsing/i);
  const disliked = said.split('\n').filter((line) => line !== '' && !line.startsWith('lxd_'));
  expect(disliked).toEqual([]);
});
