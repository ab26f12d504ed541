// A guest's writes to /dev/lxd reach no disk of the host: an unprivileged one cannot write there, a privileged one fills a small
// separate file system.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freeName, openToAll } from '../../../server/guest/socket-mount.ts';
import {
  hostRemains,
  leaveNothing,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { busyboxContainer } from '../../support/hostile/busybox-container.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { execIn } from '../../support/drivers/exec-in.ts';

const missing = await realRuntimeMissing();
const attempt = `mount -o remount,rw,bind /dev/lxd; dd if=/dev/zero of=/dev/lxd/fill bs=1024 count=2048; ls /dev/lxd`;

describe('the place of a former socket', () => {
  const work = tempFolder('gtysock-');
  afterAll(() => rmSync(work, { recursive: true }));

  test('a socket is opened to all', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(work, 'sock'), resolve));
    try {
      await openToAll(join(work, 'sock'));
      expect(statSync(join(work, 'sock')).mode & 0o777).toBe(0o666);
    } finally {
      server.close();
    }
  });

  test('a link from root of the guest is not followed: the mode of a host file stays', async () => {
    writeFileSync(join(work, 'shadow'), '', { mode: 0o600 });
    symlinkSync(join(work, 'shadow'), join(work, 'link'));
    await expect(openToAll(join(work, 'link'))).rejects.toThrow('is no socket any more');
    expect(statSync(join(work, 'shadow')).mode & 0o777).toBe(0o600);
  });

  test('a link there is removed, and what it leads to stays', async () => {
    mkdirSync(join(work, 'host'));
    writeFileSync(join(work, 'host/file'), 'text');
    symlinkSync(join(work, 'host'), join(work, 'to-host'));
    await freeName(join(work, 'to-host'));
    expect([existsSync(join(work, 'to-host')), readdirSync(join(work, 'host'))]).toEqual([false, ['file']]);
    await freeName(join(work, 'to-host'));
  });

  test('a directory from root of the guest is moved aside with its contents, which nothing enters', async () => {
    const place = join(work, 'guest');
    mkdirSync(join(place, 'sock/deep'), { recursive: true });
    symlinkSync(work, join(place, 'sock/deep/out'));
    await freeName(join(place, 'sock'));
    const [aside = '', ...others] = readdirSync(place);
    expect([aside, others]).toEqual([expect.stringMatching(/^sock\.[0-9a-f-]{36}$/), []]);
    expect(readlinkSync(join(place, aside, 'deep/out'))).toBe(work);
  });
});

describe.skipIf(missing !== undefined)('the directory of the guest socket', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
    await busyboxContainer(daemon, 'plain', 'lxc');
    await daemon.ok('POST', '/1.0/containers', {
      name: 'root',
      source: { type: 'image', alias: 'busybox' },
      config: { 'security.privileged': 'true' },
    });
    for (const name of ['plain', 'root']) expect((await setState(daemon, name, 'start')).err).toBe('');
  });
  afterAll(() => leaveNothing(daemon));

  const run = async (name: string, script: string): Promise<string> => {
    const { stdout, stderr } = await execIn(daemon.host.runtime, name, ['sh', '-c', script]);
    return `${stdout}${stderr}`;
  };
  /** The host directory whose socket has the inode that the container sees. */
  const placeOf = async (name: string): Promise<string> => {
    const number = Number.parseInt(await run(name, 'ls -i /dev/lxd/sock'), 10);
    const [uuid = ''] = readdirSync(join(daemon.dir, 'guests')).filter((each) => {
      const found = statSync(join(daemon.dir, 'guests', each, 'sock'));
      return found.ino === number && isOwn(each) === (name === 'root');
    });
    expect(uuid, `no directory on the host has the socket ${number} of ${name}`).not.toBe('');
    return join(daemon.dir, 'guests', uuid);
  };
  const isOwn = (uuid: string): boolean =>
    statSync(join(daemon.dir, 'guests', uuid)).dev !== statSync(join(daemon.dir, 'guests')).dev;

  test('is not writable for an unprivileged guest', async () => {
    const said = await run('plain', `${attempt}; rm -f /dev/lxd/sock`);
    expect(said).toMatch(/Read-only file system|permission denied/i);
    expect(readdirSync(await placeOf('plain'))).toEqual(['sock']);
  });

  test('the directory of the guest socket of a privileged guest has 64 KiB at most, on a separate file system', async () => {
    const said = await run('root', attempt);
    const place = await placeOf('root');
    const { blocks, bsize } = statfsSync(place);
    expect(blocks * bsize).toBeLessThanOrEqual(64 * 1024);
    // When the guest could write, it filled that space.
    if (readdirSync(place).includes('fill')) {
      expect(said).toMatch(/No space left/);
      expect(statSync(join(place, 'fill')).size).toBeLessThanOrEqual(64 * 1024);
    } else expect(said).toMatch(/Read-only file system|permission denied/i);
  });

  test('exists after a restart of the daemon, and is removed by a stop', async () => {
    const before = await placeOf('root');
    await daemon.restart();
    expect(await placeOf('root')).toBe(before);
    expect((await setState(daemon, 'root', 'stop', { force: true })).err).toBe('');
    // The end of a container is an event separate from its operation.
    await until(() => !existsSync(before) && hostRemains(before).length === 0);
    expect(readdirSync(join(daemon.dir, 'guests'))).toHaveLength(1);
  });
});
