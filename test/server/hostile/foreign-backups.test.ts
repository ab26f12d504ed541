// A backup from elsewhere grants no access to the host silently: it is refused with the list of its privileges, unless the caller, or the
// server's config for clients without such a flag, accepts it.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostAccessOf } from '../../../server/services/transfer/backups/host-access.ts';
import { type Answer, call, createContainer, makeSeeded, type TestDaemon } from '../../support/daemons/daemon.ts';
import { backupByHand, type SavedByHand } from '../../support/hostile/backups.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
let lxdSocket: string;
beforeAll(async () => {
  const dir = tempFolder('gtyb-');
  lxdSocket = join(dir, 'lxd/unix.socket');
  daemon = await makeSeeded({ dir, lxd: { socket: lxdSocket } });
});
afterAll(() => daemon.cleanUp());

const backupOf = (name: string, container: SavedByHand, snapshot?: SavedByHand, isOld = false): Buffer =>
  backupByHand(name, { ...container, ...(snapshot === undefined ? {} : { snapshots: { s: snapshot } }), isOld });

const upload = (bytes: Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
  daemon.call('POST', '/1.0/containers', bytes, { 'content-type': 'application/octet-stream', ...headers });
const privileged = { config: { 'security.privileged': 'true' } };
const hostRoot = { devices: { data: { type: 'disk', source: '/', path: '/mnt' } } };

describe('a backup is refused, and nothing is made of it', () => {
  test.each<[string, SavedByHand, RegExp]>([
    ['privileged', privileged, /the key security\.privileged/],
    ['with the root of the host', hostRoot, /the device data: the path \/ of the host/],
    ['with a hook', { config: { 'raw.lxc': 'lxc.hook.pre-start = /bin/evil' } }, /the key raw\.lxc/],
    ['with host ids', { config: { 'raw.idmap': 'both 0 0' } }, /the key raw\.idmap/],
    ['with kernel modules', { config: { 'linux.kernel_modules': 'evil' } }, /the key linux\.kernel_modules/],
    ['without filters', { config: { 'security.syscalls.blacklist_default': 'false' } }, /security\.syscalls/],
    ['with a node', { devices: { mem: { type: 'unix-char', path: '/dev/mem' } } }, /the device mem: type unix-char/],
    [
      'with a proxy',
      { devices: { p: { type: 'proxy', listen: 'tcp:0.0.0.0:22', connect: 'tcp:127.0.0.1:1' } } },
      /the device p: type proxy/,
    ],
    [
      'with an interface',
      { devices: { e: { type: 'nic', nictype: 'physical', parent: 'eth0' } } },
      /the device e: an interface of the host/,
    ],
  ])('%s', async (_what, what, message) => {
    const answer = await upload(backupOf('evil', what));
    expect(answer.status).toBe(400);
    expect(answer.body.metadata.message).toMatch(message);
    expect(answer.body.metadata.message).toMatch(/set backups\.allow_host_access.*with gantry and --allow-host-access/);
    expect((await daemon.call('GET', '/1.0/containers/evil')).status).toBe(404);
  });

  test('a backup is refused when only one of its snapshots would grant access', async () => {
    const answer = await upload(backupOf('evil', {}, privileged));
    expect(answer.status).toBe(400);
    expect(answer.body.metadata.message).toMatch(/security\.privileged \(in the snapshot s\)/);
  });

  test('a backup of an old release is refused, which describes the container only outside the files', async () => {
    const answer = await upload(backupOf('evil', privileged, undefined, true));
    expect(answer.status).toBe(202);
    const ended = await daemon.wait(answer.body.operation as string);
    expect(ended).toMatchObject({ status: 'Failure', err: expect.stringMatching(/the key security\.privileged/) });
    expect((await daemon.call('GET', '/1.0/containers/evil')).status).toBe(404);
  });
});

describe('a backup is accepted', () => {
  const made = async (answer: Answer): Promise<string> => {
    expect(answer.status, answer.bytes.toString()).toBe(202);
    return (await daemon.wait(answer.body.operation as string)).err;
  };

  test('a backup without access to the host is accepted', async () => {
    const config = { 'user.a': 'b', 'limits.memory': '1GiB', 'security.privileged': 'false' };
    const devices = { eth0: { type: 'nic', nictype: 'bridged', parent: 'br0' } };
    expect(await made(await upload(backupOf('good', { config, devices })))).toBe('');
  });

  test('a backup of an own privileged container is accepted if the caller trusts it', async () => {
    await createContainer(daemon, 'mine', privileged);
    await daemon.ok('POST', '/1.0/containers/mine/backups', { name: 'b' });
    const { bytes } = await daemon.call('GET', '/1.0/containers/mine/backups/b/export');
    expect((await upload(bytes, { 'x-svc-name': 'again' })).status).toBe(400);
    const headers = { 'x-svc-name': 'again', 'x-svc-allow-host-access': 'true' };
    expect(await made(await upload(bytes, headers))).toBe('');
    expect((await daemon.get('/1.0/containers/again')).config['security.privileged']).toBe('true');
  });

  test('a backup from a stock LXD client, which lacks the flag, is accepted if the server config permits it', async () => {
    const send = (name: string) =>
      call({ socketPath: lxdSocket }, 'POST', '/1.0/containers', backupOf(name, privileged), {
        'content-type': 'application/octet-stream',
      });
    const refused = await send('stock');
    expect([refused.status, refused.body.error]).toEqual([
      400,
      expect.stringMatching(/security\.privileged.*allow_host_access/),
    ]);
    await daemon.call('PATCH', '/1.0', { config: { 'backups.allow_host_access': 'true' } });
    expect(await made(await send('stock'))).toBe('');
    await daemon.call('PATCH', '/1.0', { config: { 'backups.allow_host_access': '' } });
    expect((await send('stock2')).status).toBe(400);
  });
});

test('the list of privileges has no values of keys: they may be secrets', () => {
  const saved = {
    architecture: 'x86_64',
    config: { 'raw.lxc': 'a-secret' },
    devices: {},
    profiles: ['default'],
    ephemeral: false,
    description: '',
  };
  expect(hostAccessOf({ container: saved, snapshots: [] })).toEqual(['the key raw.lxc']);
});
