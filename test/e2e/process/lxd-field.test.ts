// Requests and images of real clients beyond the contract, observed with the real lxc: accepted or refused at once, like LXD.
import { writeFileSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, leaveNothing, makeSeeded, realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = busyboxMissing() ?? clientMissing('lxc');
if (missing !== undefined) console.log(`skipped: lxc of the field: ${missing}`);
const runtime = (await realRuntimeMissing()) === undefined ? 'lxc' : 'sim';

describe.skipIf(missing !== undefined)('the daemon', () => {
  let daemon: TestDaemon;
  const work = tempFolder('gtyf-');
  let socketPath = '';
  let lxc: ReturnType<typeof lxcClient>;

  beforeAll(async () => {
    // The root of a container reads there.
    await chmod(work, 0o755);
    socketPath = join(work, 'lxd', 'unix.socket');
    daemon = await makeSeeded({ runtime, lxd: { socket: socketPath } });
    lxc = lxcClient(join(work, 'lxd'), work);
    const built = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: false } });
    await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
  });
  afterAll(() => leaveNothing(daemon));

  let count = 0;
  const fresh = async (): Promise<string> => {
    const name = `f${(count += 1)}`;
    await lxc('init', 'bb', name);
    return name;
  };
  const refusal = async (...words: string[]): Promise<string> => {
    const { code, stderr } = await lxc.run(words);
    return code === 0 ? 'not refused' : stderr;
  };

  test('mounts a disk whose path has no leading slash below the root', async () => {
    const c = await fresh();
    writeFileSync(join(work, 'seen'), 'seen');
    await lxc('config', 'device', 'add', c, 'd', 'disk', `source=${work}`, 'path=data/in');
    expect(await lxc('config', 'device', 'get', c, 'd', 'path')).toBe('data/in\n');
    await lxc('start', c);
    if (runtime === 'lxc') expect(await lxc('exec', c, '--', 'cat', '/data/in/seen')).toBe('seen');
    // Another spelling of the same place, on the running container.
    expect(await refusal('config', 'device', 'add', c, 'e', 'disk', `source=${work}`, 'path=/data//in')).toMatch(
      /devices\.e\.path: is \/data\/in like that of d/,
    );
    await lxc('stop', c, '--force');
  });

  test('refuses two disks on one path, from any profile', async () => {
    const c = await fresh();
    expect(await refusal('config', 'device', 'add', c, 'other', 'disk', 'path=/', 'pool=default')).toMatch(
      /devices\.root\.path: is \/ like that of other/,
    );
    await lxc('config', 'device', 'add', c, 'own', 'disk', `source=${work}`, 'path=/data');
    await lxc('profile', 'create', `p-${c}`);
    await lxc('profile', 'device', 'add', `p-${c}`, 'brought', 'disk', `source=${work}`, 'path=data/');
    const shared = /devices\.own\.path: is \/data like that of brought/;
    expect(await refusal('profile', 'add', c, `p-${c}`)).toMatch(shared);
    expect(await refusal('profile', 'assign', c, `default,p-${c}`)).toMatch(shared);
    expect(await refusal('init', 'bb', `${c}-new`, '-p', 'default', '-p', `p-${c}`, '-c', 'user.a=b')).toBe(
      'not refused',
    );
    const body = { devices: { own: { type: 'disk', source: work, path: 'data' } } };
    const patched = await call({ socketPath }, 'PATCH', `/1.0/containers/${c}-new`, body);
    expect([patched.status, patched.body.error]).toEqual([400, expect.stringMatching(shared)]);
    expect(
      await refusal('profile', 'device', 'add', 'default', 'third', 'disk', `source=${work}`, 'path=/data'),
    ).toMatch(/in the container f\d+(-new)? is \/data like that of/);
    await lxc('profile', 'device', 'set', `p-${c}`, 'brought', 'path=/free');
    await lxc('profile', 'add', c, `p-${c}`);
    expect(await refusal('profile', 'device', 'set', `p-${c}`, 'brought', 'path=/data')).toMatch(
      /devices\.own\.path: in the container f\d+ is \/data like that of brought/,
    );
  });

  test('keeps the root disk of a profile for as long as a container depends on it', async () => {
    const c = await fresh();
    await lxc('profile', 'create', `p-${c}`);
    await lxc('profile', 'device', 'add', `p-${c}`, 'root', 'disk', 'path=/', 'pool=default');
    await lxc('profile', 'assign', c, `p-${c}`);
    await lxc('storage', 'create', `s-${c}`, 'dir');
    expect(await refusal('profile', 'device', 'remove', `p-${c}`, 'root')).toMatch(
      /container f\d+ would have no root disk/,
    );
    expect(await refusal('profile', 'device', 'set', `p-${c}`, 'root', `pool=s-${c}`)).toMatch(
      /would have its root disk in pool s-f\d+ instead of default/,
    );
    expect(await refusal('profile', 'remove', c, `p-${c}`)).toMatch(/no root disk/);
    await lxc('config', 'device', 'add', c, 'root', 'disk', 'path=/', 'pool=default');
    await lxc('profile', 'device', 'remove', `p-${c}`, 'root');
    expect(await lxc('config', 'device', 'get', c, 'root', 'pool')).toBe('default\n');
  });

  test('makes a unix-char device from its numbers when its source does not exist', async () => {
    const c = await fresh();
    await lxc('start', c);
    const numbers = ['source=/dev/no-such-device', 'path=/dev/made', 'major=1', 'minor=5'];
    await lxc('config', 'device', 'add', c, 'made', 'unix-char', ...numbers);
    if (runtime === 'lxc')
      expect(await lxc('exec', c, '--', 'sh', '-c', 'head -c 4 /dev/made | od -An -tx1')).toMatch(/00 00 00 00/);
    await lxc('restart', c, '--force');
    if (runtime === 'lxc')
      expect(await lxc('exec', c, '--', 'stat', '-c', '%F %t,%T', '/dev/made')).toBe('character special file 1,5\n');
    await lxc('config', 'device', 'remove', c, 'made');
    expect((await lxc('config', 'device', 'list', c)).trim()).toBe('');
    await lxc('stop', c, '--force');
  });
});
