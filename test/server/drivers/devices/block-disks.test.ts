// Disks of block devices: the file system on them is mounted in containers, as LXD does; what has none is refused when it is configured.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf } from '../../../../server/drivers/devices/block-file-system.ts';
import {
  createContainer,
  leaveNothing,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { attachLoop, detachLoop, loopDeviceMissing } from '../../../support/hosts/loop-device.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing = (await realRuntimeMissing()) ?? loopDeviceMissing();
if (missing !== undefined) console.log(`skipped: disks of block devices: ${missing}`);

const head = (at: number, bytes: string): Buffer => {
  const found = Buffer.alloc(65 * 1024);
  found.write(bytes, at, 'latin1');
  return found;
};

describe('the first bytes of a device', () => {
  test.each([
    [1080, '\x53\xef', 'ext4'],
    [0, 'XFSB', 'xfs'],
    [65_600, '_BHRfS_M', 'btrfs'],
    [0, 'hsqs', 'squashfs'],
    [82, 'FAT32   ', 'vfat'],
  ])('tell a file system by what is at %d', (at, bytes, fileSystem) => {
    expect(contentOf(head(at, bytes))).toEqual({ fileSystem });
  });

  test.each([
    [0, 'LUKS\xba\xbe', 'an encrypted volume (LUKS)'],
    [512, 'LABELONE', 'a part of an LVM volume group'],
    [512, 'EFI PART', 'a partition table'],
    [510, '\x55\xaa', 'a partition table'],
    [4086, 'SWAPSPACE2', 'swap space'],
  ])('tell what is none by what is at %d', (at, bytes, other) => {
    expect(contentOf(head(at, bytes))).toEqual({ other });
  });

  test('contents that are known nowhere have no name, also when there are few bytes', () => {
    expect([contentOf(head(0, 'x')), contentOf(Buffer.alloc(3))]).toEqual([undefined, undefined]);
  });
});

describe.skipIf(missing !== undefined)('on real containers', () => {
  let daemon: TestDaemon;
  const work = tempFolder('gtyd-block-');
  let disk = '';
  let blank = '';
  let count = 0;
  beforeAll(async () => {
    mkdirSync(join(work, 'files'));
    writeFileSync(join(work, 'files/hello'), 'from the disk');
    disk = attachLoop(join(work, 'disk'), join(work, 'files'));
    blank = attachLoop(join(work, 'blank'));
    daemon = await makeSeeded({ runtime: 'lxc' });
    await uploadBusybox(daemon);
  });
  afterAll(async () => {
    await leaveNothing(daemon);
    // Nothing holds the device any more: it can be written as a whole.
    for (const device of [disk, blank]) {
      execFileSync('mkfs.ext4', ['-q', '-F', device]);
      detachLoop(device);
    }
  });

  const device = (more: object = {}): object => ({ type: 'disk', source: disk, path: '/data', ...more });
  const made = async (devices: object, config: object = {}): Promise<string> => {
    const name = `b${(count += 1)}`;
    await createContainer(daemon, name, { source: { type: 'image', alias: 'busybox' }, devices, config });
    return name;
  };
  const started = async (devices: object, config: object = {}): Promise<string> => {
    const name = await made(devices, config);
    expect((await setState(daemon, name, 'start')).err).toBe('');
    return name;
  };
  const gone = async (name: string): Promise<void> => {
    await setState(daemon, name, 'stop', { force: true });
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
  };
  const mountOf = async (name: string): Promise<string> => {
    const { pid } = await daemon.get(`/1.0/containers/${name}/state`);
    const lines = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n');
    return lines.find((line) => line.split(' ')[4] === '/data') ?? 'not mounted';
  };
  const filesOf = (name: string, file: string) =>
    daemon.call('GET', `/1.0/containers/${name}/files?path=${encodeURIComponent(file)}`);

  test.each([
    ['unprivileged', {}],
    ['privileged', { 'security.privileged': 'true' }],
  ])('the files on the device are there in a container that is %s', async (_kind, config) => {
    const name = await started({ data: device() }, config);
    expect((await filesOf(name, '/data/hello')).bytes.toString()).toBe('from the disk');
    expect(await mountOf(name)).toMatch(/ - ext4 /);
    await gone(name);
  });

  test('readonly and options reach the mount and the file system', async () => {
    const name = await started({ data: device({ readonly: 'true', 'raw.mount.options': 'noatime,noexec,noload' }) });
    const [mount = '', inside = ''] = (await mountOf(name)).split(' - ');
    expect(mount.split(' ')[5]?.split(',')).toEqual(expect.arrayContaining(['ro', 'noatime', 'noexec']));
    expect(inside).toMatch(/^ext4 \S+ ro\b.*norecovery|^ext4 \S+ ro\b.*noload/);
    await gone(name);
  });

  test('a device is plugged in and out while the container runs, and two containers share it', async () => {
    const [one, two] = [await started({ data: device() }), await started({})];
    expect((await daemon.call('PATCH', `/1.0/containers/${two}`, { devices: { data: device() } })).status).toBe(200);
    await daemon.call('POST', `/1.0/containers/${one}/files?path=/data/hello`, 'new', { 'x-svc-mode': '0644' });
    expect((await filesOf(two, '/data/hello')).status).toBe(200);
    await daemon.ok('PUT', `/1.0/containers/${two}`, { profiles: ['default'], devices: {} });
    expect(await mountOf(two)).toBe('not mounted');
    await gone(one);
    await gone(two);
  });

  test('a device that is not there is refused, unless it is not required', async () => {
    const away = { source: '/dev/gantry-none' };
    await expect(made({ data: device(away) })).rejects.toThrow(
      /data.source: cannot be \/dev\/gantry-none: it does not/,
    );
    await gone(await started({ data: device({ ...away, required: 'false' }) }));
  });

  test('what cannot be mounted is refused where it is configured, with what is there', async () => {
    const bad = { data: device({ source: blank }) };
    const why = new RegExp(`devices.data.source: ${blank} is a block device without a file system`);
    const name = await made({});
    const tries = [
      await daemon.call('POST', '/1.0/containers', { name: 'never', source: { type: 'none' }, devices: bad }),
      await daemon.call('PATCH', `/1.0/containers/${name}`, { devices: bad }),
      await daemon.call('PUT', `/1.0/containers/${name}`, { profiles: ['default'], devices: bad }),
      await daemon.call('POST', '/1.0/profiles', { name: 'never', devices: bad }),
    ];
    for (const { status, metadata } of tries)
      expect([status, metadata.message]).toEqual([400, expect.stringMatching(why)]);
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
  });

  test('an option that the file system does not know fails the start with the words of the kernel', async () => {
    const name = await made({ data: device({ 'raw.mount.options': 'gantry_unknown' }) });
    expect((await setState(daemon, name, 'start')).err).toMatch(
      /ext4 on \S+ cannot be mounted.*option gantry_unknown.*[Uu]nknown/,
    );
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
  });
});
