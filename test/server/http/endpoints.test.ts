// The contract as a table over the real daemon: every endpoint of this release is called here, and its answer matches its schema.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Endpoint } from '../../../server/api/endpoints/endpoint.ts';
import { endpoints, type EndpointId } from '../../../server/api/endpoints/endpoint-table.ts';
import type { HostDrivers } from '../../../server/daemon/host-drivers.ts';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import {
  type Answer,
  createContainer,
  emptySource,
  type Json,
  makeSeeded,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { until } from '../../support/until.ts';
import { makePair } from '../../support/daemons/tls.ts';

let daemon: TestDaemon;
let fingerprint = '';

const tarball = (note: string): Buffer =>
  tarOf(
    { name: 'metadata.yaml', content: `${goodMetadata}properties: {note: ${note}}\n`, mode: 0o644 },
    rootfsDirectory,
  );

beforeAll(async () => {
  const adapt = (host: HostDrivers): HostDrivers => ({
    ...host,
    runtime: Object.assign(host.runtime, { missing: ['apparmor'] }),
  });
  daemon = await makeSeeded({ adapt });
  const uploaded = await daemon.ok('POST', '/1.0/images', tarball('one'));
  fingerprint = String(uploaded.metadata?.['fingerprint']);
  await daemon.call('POST', '/1.0/images/aliases', { name: 'one', target: fingerprint });
  await daemon.call('POST', '/1.0/networks', { name: 'gtyabr0', config: { 'ipv4.address': '10.214.0.1/24' } });
  await createContainer(daemon, 'c1');
  await daemon.call('POST', '/1.0/profiles', { name: 'p1' });
});
afterAll(() => daemon.cleanUp());

const address = '10.214.9.1/24';
async function trustCertificate(): Promise<string> {
  const { certPem } = await makePair('test');
  const answer = await daemon.call('POST', '/1.0/certificates', {
    type: 'client',
    certificate: certPem,
    name: 'laptop',
  });
  return String(answer.headers.location).split('/').pop() ?? '';
}
const certificatePath = async (): Promise<string> => `/1.0/certificates/${await trustCertificate()}`;
let count = 0;
const fresh = (): string => `f${(count += 1)}`;
const freshContainer = async (): Promise<string> => {
  const name = fresh();
  await createContainer(daemon, name);
  return `/1.0/containers/${name}`;
};
const freshSnapshot = async (): Promise<string> => {
  const container = await freshContainer();
  await daemon.ok('POST', `${container}/snapshots`, { name: 's' });
  return `${container}/snapshots/s`;
};
const freshSnapshotVolume = async (): Promise<string> => {
  const url = await freshSnapshot();
  return url.replace('/1.0/containers/', '/1.0/storage-pools/default/volumes/container/').replace('/snapshots/', '/');
};
const freshBackup = async (): Promise<string> => {
  const container = await freshContainer();
  await daemon.ok('POST', `${container}/backups`, { name: 'b' });
  return `${container}/backups/b`;
};
const containerWithFile = async (): Promise<string> => {
  const path = await freshContainer();
  await daemon.call('POST', `${path}/files?path=/note`, Buffer.from('x'));
  return path;
};
const templateOfContainer = async (): Promise<string> => {
  const path = `${await freshContainer()}/metadata/templates?path=t`;
  await daemon.call('POST', path, Buffer.from('x'));
  return path;
};
const runningContainer = async (): Promise<string> => {
  const path = await freshContainer();
  await daemon.ok('PUT', `${path}/state`, { action: 'start' });
  return path;
};
const recordedLog = async (): Promise<string> => {
  const body = { command: ['echo', 'x'], 'record-output': true };
  const { metadata } = await daemon.ok('POST', `${await runningContainer()}/exec`, body);
  const output = metadata?.['output'] as Record<string, string> | undefined;
  return output?.['1'] ?? '';
};
const freshVolume = async (): Promise<string> => {
  const name = fresh();
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name });
  return `/1.0/storage-pools/default/volumes/custom/${name}`;
};
const freshVolumeBackup = async (): Promise<string> => {
  const volume = await freshVolume();
  await daemon.ok('POST', `${volume}/backups`, { name: 'b' });
  return `${volume}/backups/b`;
};
const freshVolumeSnapshot = async (): Promise<string> => {
  const volume = await freshVolume();
  await daemon.ok('POST', `${volume}/snapshots`, { name: 's' });
  return `${volume}/snapshots/s`;
};
const freshProfile = async (): Promise<string> => {
  const name = fresh();
  await daemon.call('POST', '/1.0/profiles', { name });
  return `/1.0/profiles/${name}`;
};
const freshProject = async (): Promise<string> => {
  const name = fresh();
  await daemon.call('POST', '/1.0/projects', { name });
  return `/1.0/projects/${name}`;
};
const freshNetwork = async (): Promise<string> => {
  const name = `gtyan${(count += 1)}`;
  await daemon.call('POST', '/1.0/networks', { name, config: { 'ipv4.address': 'none', 'ipv6.address': 'none' } });
  return `/1.0/networks/${name}`;
};
const freshAcl = async (): Promise<string> => {
  const name = `acl${(count += 1)}`;
  await daemon.call('POST', '/1.0/network-acls', { name });
  return `/1.0/network-acls/${name}`;
};
const freshPool = async (): Promise<string> => {
  const name = fresh();
  await daemon.call('POST', '/1.0/storage-pools', { name, driver: 'dir' });
  return `/1.0/storage-pools/${name}`;
};
const freshAlias = async (): Promise<string> => {
  const name = fresh();
  await daemon.call('POST', '/1.0/images/aliases', { name, target: fingerprint });
  return `/1.0/images/aliases/${name}`;
};
const freshImage = async (): Promise<string> => {
  const { metadata } = await daemon.ok('POST', '/1.0/images', tarball(fresh()));
  return `/1.0/images/${String(metadata?.['fingerprint'])}`;
};
const secretOperation = async (): Promise<string> =>
  (await daemon.call('POST', `/1.0/images/${fingerprint}/secret`, {})).body.operation as string;
/** There since the start. */
async function warning(): Promise<string> {
  const list = async (): Promise<string[]> => daemon.get('/1.0/warnings');
  await until(async () => (await list()).length > 0);
  return (await list())[0] ?? '';
}
const get = (path: string) => (): Promise<Answer> => daemon.call('GET', path);
const on =
  (method: string, path: () => Promise<string> | string, body?: object | (() => object)) => async (): Promise<Answer> =>
    daemon.call(method, await path(), typeof body === 'function' ? body() : body);

/** One valid request for each endpoint of this release. */
const good: Partial<Record<EndpointId, () => Promise<Answer>>> = {
  'root.get': get('/'),
  'server.get': get('/1.0'),
  'server.put': on('PUT', () => '/1.0', { config: {} }),
  'server.patch': on('PATCH', () => '/1.0', { config: { 'core.trust_password': 'x' } }),
  'resources.get': get('/1.0/resources'),
  'server.gc': get('/internal/gc'),
  'metrics.get': get('/1.0/metrics'),
  'cluster.get': get('/1.0/cluster'),
  'members.list': get('/1.0/cluster/members'),
  'certificates.list': get('/1.0/certificates'),
  'certificates.create': async () => {
    const { certPem } = await makePair('other');
    return daemon.call('POST', '/1.0/certificates', { type: 'client', certificate: certPem });
  },
  'certificates.get': on('GET', certificatePath),
  'certificates.put': on('PUT', certificatePath, { type: 'client', name: 'new' }),
  'certificates.patch': on('PATCH', certificatePath, { name: 'new' }),
  'certificates.delete': on('DELETE', certificatePath),
  'containers.list': get('/1.0/containers'),
  'containers.create': on(
    'POST',
    () => '/1.0/containers',
    () => ({ name: fresh(), source: emptySource }),
  ),
  'containers.get': get('/1.0/containers/c1'),
  'containers.put': on('PUT', freshContainer, { profiles: ['default'] }),
  'containers.patch': on('PATCH', freshContainer, { description: 'x' }),
  'containers.post': on('POST', freshContainer, () => ({ name: fresh() })),
  'containers.delete': on('DELETE', freshContainer),
  'containers.state.get': get('/1.0/containers/c1/state'),
  'containers.state.put': on('PUT', async () => `${await freshContainer()}/state`, { action: 'start' }),
  'containers.exec': on('POST', async () => `${await runningContainer()}/exec`, { command: ['true'] }),
  'containers.console.get': on('GET', async () => `${await runningContainer()}/console`),
  'containers.console.post': async () => {
    const path = await runningContainer();
    const answer = await daemon.call('POST', `${path}/console`, {});
    // A console waits for its client as long as the container runs.
    await daemon.ok('PUT', `${path}/state`, { action: 'stop', force: true });
    return answer;
  },
  'containers.console.delete': on('DELETE', async () => `${await runningContainer()}/console`),
  'containers.logs.list': on('GET', async () => `${await runningContainer()}/logs`),
  'containers.logs.get': on('GET', async () => `${await runningContainer()}/logs/console.log`),
  'containers.logs.delete': on('DELETE', () => recordedLog()),
  'snapshots.list': get('/1.0/containers/c1/snapshots'),
  'snapshots.create': on(
    'POST',
    async () => `${await freshContainer()}/snapshots`,
    () => ({ name: 's' }),
  ),
  'snapshots.get': on('GET', () => freshSnapshot()),
  'snapshots.post': on('POST', () => freshSnapshot(), { name: 't' }),
  'snapshots.put': on('PUT', () => freshSnapshot(), { expires_at: '' }),
  'snapshots.delete': on('DELETE', () => freshSnapshot()),
  'containers.files.get': async () => daemon.call('GET', `${await containerWithFile()}/files?path=/note`),
  'containers.files.post': async () =>
    daemon.call('POST', `${await freshContainer()}/files?path=/note`, Buffer.from('x')),
  'containers.metadata.get': get('/1.0/containers/c1/metadata'),
  'containers.metadata.put': on('PUT', async () => `${await freshContainer()}/metadata`, {
    architecture: 'x86_64',
    creation_date: 1,
  }),
  'containers.templates.get': get('/1.0/containers/c1/metadata/templates'),
  'containers.templates.post': async () =>
    daemon.call('POST', `${await freshContainer()}/metadata/templates?path=t`, Buffer.from('x')),
  'containers.templates.put': async () => daemon.call('PUT', await templateOfContainer(), Buffer.from('y')),
  'containers.templates.delete': async () => daemon.call('DELETE', await templateOfContainer()),
  'containers.files.delete': async () => daemon.call('DELETE', `${await containerWithFile()}/files?path=/note`),
  'volumes.list': get('/1.0/storage-pools/default/volumes'),
  'volumes.listType': get('/1.0/storage-pools/default/volumes/custom'),
  'volumes.create': on(
    'POST',
    () => '/1.0/storage-pools/default/volumes',
    () => ({ name: fresh(), type: 'custom' }),
  ),
  'volumes.createType': on(
    'POST',
    () => '/1.0/storage-pools/default/volumes/custom',
    () => ({ name: fresh() }),
  ),
  'volumes.get': on('GET', () => freshVolume()),
  'volumes.post': on(
    'POST',
    () => freshVolume(),
    () => ({ name: fresh() }),
  ),
  'volumes.put': on('PUT', () => freshVolume(), { config: {} }),
  'volumes.patch': on('PATCH', () => freshVolume(), { description: 'x' }),
  'volumes.getSnapshot': on('GET', () => freshSnapshotVolume()),
  'volumes.putSnapshot': on('PUT', () => freshSnapshotVolume(), { description: 'x' }),
  'volumes.patchSnapshot': on('PATCH', () => freshSnapshotVolume(), { description: 'x' }),
  'volumes.delete': on('DELETE', () => freshVolume()),
  'volumeSnapshots.list': on('GET', async () => `${await freshVolume()}/snapshots`),
  'volumeSnapshots.create': on('POST', async () => `${await freshVolume()}/snapshots`, {}),
  'volumeSnapshots.get': on('GET', () => freshVolumeSnapshot()),
  'volumeSnapshots.post': on('POST', () => freshVolumeSnapshot(), { name: 't' }),
  'volumeSnapshots.put': on('PUT', () => freshVolumeSnapshot(), { description: 'x' }),
  'volumeSnapshots.delete': on('DELETE', () => freshVolumeSnapshot()),
  'volumeBackups.list': on('GET', async () => `${await freshVolume()}/backups`),
  'volumeBackups.create': on('POST', async () => `${await freshVolume()}/backups`, { name: 'b' }),
  'volumeBackups.get': on('GET', () => freshVolumeBackup()),
  'volumeBackups.post': on('POST', () => freshVolumeBackup(), { name: 'c' }),
  'volumeBackups.delete': on('DELETE', () => freshVolumeBackup()),
  'volumeBackups.export': on('GET', async () => `${await freshVolumeBackup()}/export`),
  'events.get': async () => {
    const listening = await daemon.listen('operation');
    listening.close();
    return { status: 101, headers: {}, bytes: Buffer.alloc(0), body: undefined, metadata: undefined };
  },
  'backups.list': get('/1.0/containers/c1/backups'),
  'backups.create': on('POST', async () => `${await freshContainer()}/backups`, { name: 'b' }),
  'backups.get': on('GET', () => freshBackup()),
  'backups.post': on('POST', () => freshBackup(), { name: 'c' }),
  'backups.delete': on('DELETE', () => freshBackup()),
  'backups.export': on('GET', async () => `${await freshBackup()}/export`),
  'images.refresh': () => daemon.call('POST', `/1.0/images/${fingerprint}/refresh`),
  'images.list': get('/1.0/images'),
  'images.create': () => daemon.call('POST', '/1.0/images', tarball(fresh())),
  'images.get': () => daemon.call('GET', `/1.0/images/${fingerprint}`),
  'images.put': on('PUT', freshImage, { public: true, properties: { a: 'b' } }),
  'images.patch': on('PATCH', freshImage, { public: true }),
  'images.delete': on('DELETE', freshImage),
  'images.export': () => daemon.call('GET', `/1.0/images/${fingerprint}/export`),
  'images.secret': () => daemon.call('POST', `/1.0/images/${fingerprint}/secret`, {}),
  'aliases.list': get('/1.0/images/aliases'),
  'aliases.create': on(
    'POST',
    () => '/1.0/images/aliases',
    () => ({ name: fresh(), target: fingerprint }),
  ),
  'aliases.get': get('/1.0/images/aliases/one'),
  'aliases.put': on('PUT', freshAlias, () => ({ target: fingerprint, description: 'x' })),
  'aliases.patch': on('PATCH', freshAlias, { description: 'x' }),
  'aliases.post': on('POST', freshAlias, () => ({ name: fresh() })),
  'aliases.delete': on('DELETE', freshAlias),
  'networks.list': get('/1.0/networks'),
  'networks.create': on('POST', () => '/1.0/networks', {
    name: 'gtyanew',
    config: { 'ipv4.address': address, 'ipv6.address': 'none' },
  }),
  'networks.get': get('/1.0/networks/gtyabr0'),
  'networks.put': on('PUT', freshNetwork, { config: { 'ipv4.address': 'none' }, description: 'x' }),
  'networks.patch': on('PATCH', freshNetwork, { config: { 'user.a': 'b' } }),
  'networks.post': on('POST', freshNetwork, () => ({ name: `gtyam${(count += 1)}` })),
  'networks.delete': on('DELETE', freshNetwork),
  'networks.state': get('/1.0/networks/gtyabr0/state'),
  'networks.leases': get('/1.0/networks/gtyabr0/leases'),
  'networkAcls.list': get('/1.0/network-acls'),
  'networkAcls.create': on(
    'POST',
    () => '/1.0/network-acls',
    () => ({ name: `acl${(count += 1)}` }),
  ),
  'networkAcls.get': on('GET', freshAcl),
  'networkAcls.put': on('PUT', freshAcl, { ingress: [{ action: 'allow', state: 'enabled' }] }),
  'networkAcls.patch': on('PATCH', freshAcl, { config: { 'user.a': 'b' } }),
  'networkAcls.post': on('POST', freshAcl, () => ({ name: `acl${(count += 1)}` })),
  'networkAcls.delete': on('DELETE', freshAcl),
  'operations.list': get('/1.0/operations'),
  'operations.get': on('GET', secretOperation),
  'operations.delete': on('DELETE', secretOperation),
  'operations.wait': on('GET', async () => `${await secretOperation()}/wait?timeout=0`),
  'profiles.list': get('/1.0/profiles'),
  'profiles.create': on(
    'POST',
    () => '/1.0/profiles',
    () => ({ name: fresh() }),
  ),
  'profiles.get': get('/1.0/profiles/p1'),
  'profiles.put': on('PUT', freshProfile, { description: 'x' }),
  'profiles.patch': on('PATCH', freshProfile, { description: 'x' }),
  'profiles.post': on('POST', freshProfile, () => ({ name: fresh() })),
  'profiles.delete': on('DELETE', freshProfile),
  'projects.list': get('/1.0/projects'),
  'projects.create': on(
    'POST',
    () => '/1.0/projects',
    () => ({ name: fresh() }),
  ),
  'projects.get': get('/1.0/projects/default'),
  'projects.state': get('/1.0/projects/default/state'),
  'projects.put': on('PUT', freshProject, { description: 'x' }),
  'projects.patch': on('PATCH', freshProject, { description: 'x' }),
  'projects.post': on('POST', freshProject, () => ({ name: fresh() })),
  'projects.delete': on('DELETE', freshProject),
  'recovery.run': () => daemon.call('POST', '/1.0/recovery', {}),
  'warnings.list': get('/1.0/warnings'),
  'warnings.get': on('GET', () => warning()),
  'warnings.put': on('PUT', () => warning(), { status: 'acknowledged' }),
  'warnings.patch': on('PATCH', () => warning(), { status: 'new' }),
  'warnings.delete': on('DELETE', () => warning()),
  'pools.list': get('/1.0/storage-pools'),
  'pools.create': on(
    'POST',
    () => '/1.0/storage-pools',
    () => ({ name: fresh(), driver: 'dir' }),
  ),
  'pools.get': get('/1.0/storage-pools/default'),
  'pools.put': async () => {
    const path = await freshPool();
    return daemon.call('PUT', path, { config: (await daemon.get(path)).config });
  },
  'pools.patch': on('PATCH', freshPool, { config: { 'rsync.bwlimit': '1MB' } }),
  'pools.delete': on('DELETE', freshPool),
  'pools.resources': get('/1.0/storage-pools/default/resources'),
};

const rows: readonly Endpoint[] = endpoints;
const built = rows.filter((row) => row.built);
const expectedStatus = (row: Endpoint): number =>
  row.mode === 'async' ? 202 : row.mode === 'websocket' ? 101 : (row.status ?? 200);

describe('every endpoint of this release', () => {
  test('is called by this table', () => {
    const uncovered = built.filter((row) => !(row.id in good)).map((row) => row.id);
    const elsewhere = [
      // Accepts an upgrade with a secret, frame by frame in test/server/services/containers/exec.test.ts.
      'operations.websocket',
      // A migration waits for its other side: test/e2e/cluster/volumes.test.ts.
      'volumes.postSnapshot',
      // Without a cluster these change nothing: cluster.test.ts, and in one test/e2e/cluster.
      'cluster.put',
      'cluster.certificate.put',
      'cluster.accept',
      'cluster.arrivals',
      'cluster.keys.get',
      'cluster.keys.post',
      'cluster.returns',
      'members.state.post',
      'members.create',
      'members.get',
      'members.put',
      'members.patch',
      'memberGroups.list',
      'memberGroups.create',
      'memberGroups.get',
      'memberGroups.put',
      'memberGroups.patch',
      'memberGroups.post',
      'memberGroups.delete',
      'members.post',
      'members.delete',
    ];
    expect(uncovered.filter((id) => !elsewhere.includes(id))).toEqual([]);
    expect(Object.keys(good).filter((id) => !built.some((row) => row.id === id))).toEqual([]);
  });

  test.each(built.filter((row) => row.id in good).map((row) => [row.id, row] as const))(
    '%s answers according to its row',
    async (id, row) => {
      const answer = await good[id as EndpointId]!();
      expect(answer.status, answer.bytes.toString()).toBe(expectedStatus(row));
      if (row.mode === 'websocket') return;
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      if (row.mode === 'raw') return;
      if (answer.status === 204) {
        expect(answer.bytes).toHaveLength(0);
        expect(answer.headers.location).toMatch(/^\/1\.0\//);
        return;
      }
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      if (row.mode === 'async') {
        expect(answer.body).toMatchObject({ type: 'async', status: 'OK', status_code: 100 });
        expect(answer.headers.location).toBe(answer.body.operation);
        expect(answer.body.operation).toBe(`/1.0/operations/${answer.metadata.id}`);
        const final = row.id === 'images.secret' ? undefined : await daemon.wait(answer.body.operation as string);
        // Uploaded here: other sources are in remote-images.test.ts.
        const wanted = row.id === 'images.refresh' ? /has no source/ : /^$/;
        expect(final?.err ?? '').toMatch(wanted);
        return;
      }
      expect(answer.body).toMatchObject({ type: 'sync', status: 'Success', status_code: 200 });
      if (row.result !== undefined) expect(validateBody(row.result, answer.metadata)).toEqual([]);
      if (row.etag && row.method === 'GET') expect(answer.headers.etag).toMatch(/^[0-9a-f]{64}$/);
    },
  );

  test.each(
    built
      .filter((row) => row.method === 'GET' && row.query.includes('recursion') && !row.path.includes(':'))
      .map((row) => row.path),
  )('GET %s lists URLs, and with recursion=1 the objects behind them', async (path) => {
    // Operations of other tests end meanwhile.
    await until(async () => {
      const asked = [path, `${path}?recursion=1`, `${path}?recursion=no`, path];
      const [urls, objects, same, later] = await Promise.all(asked.map((one) => daemon.get(one)));
      if (!isDeepStrictEqual(urls, later)) return false;
      for (const url of urls as Json[]) expect(url).toMatch(/^\/1\.0\//);
      for (const object of objects as Json[]) expect(object).toBeTypeOf('object');
      expect((objects as Json[]).length).toBe((urls as Json[]).length);
      expect(same).toEqual(urls);
      return true;
    });
  });
});

const place = (path: string): string => path.replace(/:[a-z]+/g, 'x').replace('*', 'x');

test('every endpoint of the contract is served', () => {
  expect(rows.filter((row) => !row.built).map(({ id }) => id)).toEqual([]);
});

describe('paths and methods', () => {
  test.each(['/2.0', '/1.0/nothing', '/1.0/containers/c1/nothing', '/1.0/images/x/y/z', '/favicon.ico'])(
    'the unknown path %s answers 404',
    async (path) => {
      const answer = await daemon.call('GET', path);
      expect(answer.status).toBe(404);
      expect(answer.body).toMatchObject({
        type: 'error',
        error: 'Failure',
        error_code: 404,
        metadata: { code: 'notFound' },
      });
    },
  );

  test('a slash at the end of a path changes nothing', async () => {
    for (const path of [
      'operations',
      'containers',
      'containers/c1/snapshots',
      'images',
      'images/aliases',
      'storage-pools',
      'profiles',
    ]) {
      // Operations go from their list some seconds after they have ended.
      await vi.waitFor(async () => {
        const plain = await daemon.call('GET', `/1.0/${path}?recursion=0`);
        const slashed = await daemon.call('GET', `/1.0/${path}/?recursion=0`);
        expect([path, slashed.status, slashed.metadata]).toEqual([path, 200, plain.metadata]);
      });
    }
  });

  const known = new Map<string, Set<string>>();
  for (const row of rows) known.set(row.path, (known.get(row.path) ?? new Set()).add(row.method));
  const wrong = [...known].flatMap(([path, methods]) =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      .filter((method) => !methods.has(method))
      .map((method) => [method, place(path)] as const),
  );
  test('a known path with a method it does not have answers 400, as the specification has no better status', async () => {
    expect(wrong.length).toBeGreaterThan(20);
    for (const [method, path] of wrong) {
      const answer = await daemon.call(method, path, method === 'GET' ? undefined : {});
      expect([method, path, answer.status, answer.metadata['code']]).toEqual([method, path, 400, 'notImplemented']);
    }
  });

  test('an expectation that the server does not know is no reason to refuse a request', async () => {
    expect((await daemon.call('GET', '/1.0', undefined, { expect: 'something' })).status).toBe(200);
  });

  test.each([
    ['a method other than GET', 'POST', { 'sec-websocket-version': '13' }],
    ['a version that does not exist', 'GET', { 'sec-websocket-version': '99' }],
  ])('an upgrade with %s answers 400 with an envelope', async (_what, method, headers) => {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const answer = await daemon.call(method, '/1.0/events', undefined, { ...upgrade, ...headers });
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.objectContaining({ type: 'error', error_code: 400, error: 'Failure' }),
    ]);
  });

  test('OPTIONS on a known path answers 200 without a body', async () => {
    const answer = await daemon.call('OPTIONS', '/1.0/containers');
    expect([answer.status, answer.bytes.length]).toEqual([200, 0]);
  });

  test.each(['/1.0/containers/%zz', '/1.0/containers/%ff', '//', '/1.0/images/aliases/%'])(
    'the malformed path %s is no failure of the server',
    async (path) => {
      const answer = await daemon.call('GET', path);
      expect([400, 404]).toContain(answer.status);
      expect(answer.body.type).toBe('error');
    },
  );

  test('the project default is accepted, any other one is 404', async () => {
    expect((await daemon.call('GET', '/1.0/containers?project=default')).status).toBe(200);
    expect((await daemon.call('GET', '/1.0/containers?project=blue')).status).toBe(404);
  });

  test('HEAD has the answer of GET without the body', async () => {
    for (const path of ['/1.0', '/1.0/containers', '/1.0/containers/nobody', '/1.0/nothing']) {
      const [got, head] = [await daemon.call('GET', path), await daemon.call('HEAD', path)];
      expect([path, head.status, head.bytes.length]).toEqual([path, got.status, 0]);
      expect(head.headers['content-type'], path).toBe(got.headers['content-type']);
    }
  });

  test('a cluster target is refused outside a cluster', async () => {
    const create = { name: 'placed', source: { type: 'none' } };
    for (const [method, path, body] of [
      ['POST', '/1.0/containers?target=node1', create],
      ['GET', '/1.0?target=node1', undefined],
      ['POST', '/1.0/storage-pools?target=node1', { name: 'p', driver: 'dir' }],
    ] as const) {
      const { status, metadata } = await daemon.call(method, path, body);
      expect([status, metadata.message]).toEqual([400, expect.stringMatching(/no cluster member node1/)]);
    }
    expect((await daemon.call('GET', '/1.0/containers/placed')).status).toBe(404);
    expect((await daemon.call('GET', '/1.0?target=none')).status).toBe(200);
  });

  test('a request that demands trust succeeds on the local socket', async () => {
    expect((await daemon.call('GET', '/1.0', undefined, { 'x-svc-authenticated': 'true' })).status).toBe(200);
  });
});

test('the socket belongs to the daemon and is not open to everybody', async () => {
  const { statSync } = await import('node:fs');
  expect(statSync(daemon.socketPath).mode & 0o777).toBe(0o660);
  expect(await readFile(join(daemon.dir, 'server.crt'), 'utf8')).toMatch(/BEGIN CERTIFICATE/);
});

test.each([
  ['no HTTP at all', 'nonsense\r\n\r\n'],
  ['a header without a colon', 'GET /1.0 HTTP/1.1\r\nhost x\r\n\r\n'],
  ['two lengths', 'POST /1.0 HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
  ['headers without end', `GET /1.0 HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}`],
])('%s is answered with the envelope of errors, and the connection ends', async (_what, sent) => {
  const socket = connect(daemon.socketPath);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const ended = new Promise((resolve) => socket.on('close', resolve));
  socket.on('error', () => {});
  socket.write(sent);
  await ended;
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json/);
  expect(JSON.parse(body)).toMatchObject({
    type: 'error',
    error_code: 400,
    metadata: { code: 'badRequest', message: expect.stringMatching(/^The request is malformed: ./) },
  });
  expect((await daemon.call('GET', '/1.0')).status).toBe(200);
});
