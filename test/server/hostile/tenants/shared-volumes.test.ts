// A tenant whose project has no volumes of its own tries to write those of the project default, which other teams use.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Records } from '../../../../server/records/records.ts';
import { checkDisks } from '../../../../server/services/limits/host-paths.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { type Answer, makeSeeded, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';
import { callTls, makeClient, type ClientCertificate } from '../../../support/daemons/tls.ts';

const shared = { 'features.storage.volumes': 'false', restricted: 'true' };
let admin: TestDaemon;
let client: ClientCertificate;
beforeAll(async () => {
  admin = await makeSeeded({ https: '127.0.0.1:0' });
  await admin.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'library' });
  await makeProject(admin, 'guest', shared);
  client = await makeClient();
  const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  const body = { type: 'client', name: 'tenant', certificate, restricted: true, projects: ['guest'] };
  expect((await admin.call('POST', '/1.0/certificates', body)).status).toBeLessThan(300);
});
afterAll(() => admin.cleanUp());

const tenant = (method: string, path: string, body?: object): Promise<Answer> =>
  callTls(admin.daemon.httpsAddress() ?? '', method, `${path}?project=guest`, body, { client });
const library = (more: object = {}) => ({
  lib: { type: 'disk', path: '/lib', pool: 'default', source: 'library', ...more },
});
const none = { type: 'none' } as const;

test('a restricted project attaches a volume of default only read-only, and the refusal names the key', async () => {
  const writable = await tenant('POST', '/1.0/containers', { name: 'a', source: none, devices: library() });
  expect([writable.status, writable.bytes.toString()]).toEqual([
    403,
    expect.stringContaining('devices.lib.readonly must be true: \\"library\\" is a volume of the project default'),
  ]);
  expect(writable.bytes.toString()).toContain('restricted.storage.shared of the project guest is readonly');
  const reading = await tenant('POST', '/1.0/containers', {
    name: 'b',
    source: none,
    devices: library({ readonly: 'true' }),
  });
  expect(reading.status).toBe(202);
  expect((await admin.wait(reading.body.operation as string)).status).toBe('Success');
});

test('neither a change of a container, nor a profile, nor a copy makes the volume writable', async () => {
  await makeContainerIn(admin, 'guest', 'c', { devices: library({ readonly: 'true' }) });
  const changed = await tenant('PATCH', '/1.0/containers/c', { devices: library({ readonly: 'false' }) });
  const profile = await tenant('POST', '/1.0/profiles', { name: 'p', devices: library() });
  const source = { type: 'copy', source: 'c' };
  const copied = await tenant('POST', '/1.0/containers', { name: 'd', source, devices: library() });
  for (const answer of [changed, profile, copied])
    expect([answer.status, answer.bytes.toString()]).toEqual([403, expect.stringContaining('lib.readonly must be')]);
});

test('a project cannot become restricted while its containers write volumes of default', async () => {
  await makeProject(admin, 'old', { 'features.storage.volumes': 'false' });
  await makeContainerIn(admin, 'old', 'e', { devices: library() });
  const changed = await admin.call('PATCH', '/1.0/projects/old', { config: { restricted: 'true' } });
  expect([changed.status, changed.bytes.toString()]).toEqual([400, expect.stringContaining('lib.readonly')]);
});

test('a disk that an older release let be written is refused when its container starts', async () => {
  const records = await Records.open(openMemoryStore());
  await records.commit((changes) => {
    changes.put('projects', 'old', { v: 1, config: shared, description: '', lifecycle: 'ready' });
  });
  expect(() => checkDisks(records, 'old%e', library())).toThrow(/devices\.lib\.readonly must be true/);
  expect(() => checkDisks(records, 'old%e', library({ readonly: 'true' }))).not.toThrow();
});

test('restricted.storage.shared=allow lets the project write them', async () => {
  await makeProject(admin, 'writers', { ...shared, 'restricted.storage.shared': 'allow' });
  await makeContainerIn(admin, 'writers', 'f', { devices: library() });
  const devices = (await admin.get('/1.0/containers/f?project=writers')).devices;
  expect(devices).toEqual(library());
});
