// Inspecting and unpacking images: good ones of every packing, and a corpus of hostile ones.
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inspectImage, withTar } from '../../../server/drivers/image/archive.ts';
import { fingerprintImage } from '../../../server/drivers/image/files.ts';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { errorText } from '../../../server/lib/shared/reason.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { buildBusyboxImage, type ImageCompression } from '../../support/images/busybox.ts';
import {
  hostileImages,
  metadataFaults,
  metadataFile,
  oddImages,
  pax,
  rootfsDirectory,
  tarOf,
} from '../../support/images/hostile.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const signal = new AbortController().signal;
const isRoot = process.getuid?.() === 0;
const noBusybox = busyboxMissing();
if (noBusybox !== undefined) console.log(`skipped: images of busybox: ${noBusybox}`);
if (!isRoot) console.log('skipped: owners, devices and capabilities of images: not root');

const base = tempFolder('gantry-image-');

async function stored(bytes: Buffer): Promise<{ metadataPath: string }> {
  const metadataPath = join(await mkdtemp(join(base, 'stored-')), 'image');
  await writeFile(metadataPath, bytes);
  return { metadataPath };
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: unknown) => errorText(error),
  );
}

describe('a hostile image is refused by name', () => {
  const names = Object.keys(hostileImages('/nowhere/canary'));
  test.each(names)('%s', async (name) => {
    const hostile = hostileImages(join(base, 'outside', 'canary'))[name];
    if (hostile === undefined) throw new Error(`no ${name}`);
    const files = await stored(hostile.bytes);
    const text = await failure(inspectImage(files, { maxUnpackedBytes: 2 * 1024 * 1024 }, signal));
    expect(text).toMatch(hostile.message);
  });
});

describe('unpacking writes nothing outside its target even without an inspection', () => {
  const all = (canary: string) => ({ ...hostileImages(canary), ...oddImages(canary) });
  // Unpacking does not read what metadata.yaml says.
  const names = Object.keys(all('/nowhere/canary')).filter((name) => !(name in metadataFaults));
  test.each(names)('%s', async (name) => {
    const place = await mkdtemp(join(base, 'place-'));
    await mkdir(join(place, 'outside'));
    await mkdir(join(place, 'target'));
    const canary = join(place, 'outside', 'canary');
    await writeFile(canary, 'alive');
    const hostile = all(canary)[name];
    if (hostile === undefined) throw new Error(`no ${name}`);
    const files = await stored(hostile.bytes);
    const text = await failure(unpackImage(files, join(place, 'target'), { asRoot: isRoot }, signal));
    expect((await readdir(place)).toSorted()).toEqual(['outside', 'target']);
    expect(await readdir(join(place, 'outside'))).toEqual(['canary']);
    expect(await readFile(canary, 'utf8')).toBe('alive');
    expect((await lstat(canary)).nlink).toBe(1);
    if (text !== 'no error') return;
    const parts = await readdir(join(place, 'target'));
    expect(['metadata.yaml', 'rootfs', 'templates']).toEqual(expect.arrayContaining(parts));
    expect((await lstat(join(place, 'target', 'rootfs'))).isDirectory()).toBe(true);
    expect((await lstat(join(place, 'target', 'metadata.yaml'))).isFile()).toBe(true);
  });
});

describe('a strange but honest image is accepted', () => {
  test('names with ./, long names, links to anywhere, hard links, global headers', async () => {
    const long = `rootfs/${'d'.repeat(90)}/${'f'.repeat(90)}`;
    const files = await stored(
      tarOf(
        pax({ comment: 'hello' }, 'g'),
        { name: './', flag: '5', mode: 0o777 },
        { ...metadataFile, name: './metadata.yaml' },
        { name: './rootfs/', flag: '5' },
        { name: 'rootfs/abs', flag: '2', link: '/etc/passwd' },
        { name: 'rootfs/up', flag: '2', link: '../../../etc/passwd' },
        { name: 'rootfs/a', content: 'content' },
        { name: 'rootfs/h', flag: '1', link: './rootfs/a' },
        { name: 'rootfs/hl', flag: '1', link: 'rootfs/abs' },
        pax({ path: long }),
        { name: 'short', content: 'long' },
        { name: 'backup.yaml', content: 'not ours' },
      ),
    );
    const found = await inspectImage(files, { targetDir: base }, signal);
    expect(found.metadata).toMatchObject({ architecture: 'x86_64', creation_date: 1_700_000_000, expiry_date: 0 });
    const target = await mkdtemp(join(base, 'target-'));
    await chmod(target, 0o700);
    await unpackImage(files, target, { asRoot: isRoot }, signal);
    expect((await readdir(target)).toSorted()).toEqual(['metadata.yaml', 'rootfs']);
    expect((await lstat(target)).mode & 0o7777).toBe(0o700);
    expect(await readlink(join(target, 'rootfs/up'))).toBe('../../../etc/passwd');
    expect(await readFile(join(target, long), 'utf8')).toBe('long');
    expect((await lstat(join(target, 'rootfs/a'))).nlink).toBe(2);
  });

  test.each(Object.keys(oddImages('/nowhere/canary')))('%s', async (name) => {
    const outside = join(await mkdtemp(join(base, 'outside-')), 'canary');
    const odd = oddImages(outside)[name];
    if (odd === undefined) throw new Error(`no ${name}`);
    const files = await stored(odd.bytes);
    await inspectImage(files, { targetDir: base }, signal);
    const target = await mkdtemp(join(base, 'target-'));
    await unpackImage(files, target, { asRoot: isRoot }, signal);
    const found = await lstat(join(target, 'rootfs', odd.path));
    expect([found.isSymbolicLink(), await readdir(join(outside, '..'))]).toEqual([
      name.startsWith('a symbolic link over'),
      [],
    ]);
  });

  test('unknown trigger words of templates are ignored', async () => {
    const content =
      'architecture: x86_64\ncreation_date: 1\ntemplates: {/a: {when: ["", bogus, create, ~], template: a.tpl}}\n';
    const found = await inspectImage(await stored(tarOf({ ...metadataFile, content }, rootfsDirectory)), {}, signal);
    expect(found.metadata.templates['/a']?.when).toEqual(['bogus', 'create']);
  });

  test('device nodes are accepted and not unpacked', async () => {
    const files = await stored(
      tarOf(
        metadataFile,
        rootfsDirectory,
        { name: 'rootfs/dev/', flag: '5' },
        { name: 'rootfs/dev/null', flag: '3', change: (header) => header.write('0000001\x000000003\0', 329) },
        { name: 'rootfs/dev/sda', flag: '4', change: (header) => header.write('0000010\x000000000\0', 329) },
        { name: 'rootfs/dev/pipe', flag: '6' },
      ),
    );
    await inspectImage(files, {}, signal);
    const target = await mkdtemp(join(base, 'target-'));
    await unpackImage(files, target, { asRoot: isRoot }, signal);
    expect(await readdir(join(target, 'rootfs/dev'))).toEqual(['pipe']);
  });
});

test('the root file system of a split image is its second file, whatever the first brings', async () => {
  const both = await stored(tarOf(metadataFile, rootfsDirectory, { name: 'rootfs/ignored', content: 'x' }));
  const rootfs = await stored(tarOf({ name: 'etc/', flag: '5' }));
  const files = { metadataPath: both.metadataPath, rootfsPath: rootfs.metadataPath };
  await inspectImage(files, {}, signal);
  const target = await mkdtemp(join(base, 'target-'));
  await unpackImage(files, target, { asRoot: isRoot }, signal);
  expect(await readdir(join(target, 'rootfs'))).toEqual(['etc']);
});

test('an inspection whose program is killed does not blame the image', async () => {
  const work = await mkdtemp(join(base, 'killed-'));
  const pack =
    'truncate -s 2G big; tar -c big | head -c 512 | gzip > image; head -c 32M big | gzip -1 > part; for i in $(seq 64); do cat part >> image; done';
  execFileSync('sh', ['-c', pack], { cwd: work, stdio: 'ignore' });
  const inspected = inspectImage({ metadataPath: join(work, 'image') }, {}, signal);
  const kill = async (): Promise<boolean> => {
    const children = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
    for (const pid of children.trim().split(' ')) {
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
      if (name.trim() === 'gzip') return process.kill(Number(pid), 'SIGKILL');
    }
    return false;
  };
  const refused = expect(inspected).rejects.toMatchObject({
    code: 'Failed',
    message: expect.stringContaining('gzip was killed by SIGKILL') as string,
  });
  await until(kill);
  await refused;
});

test('an abort while an archive is opened fails the reading, and does not end the process', async () => {
  const files = await stored(tarOf(metadataFile, rootfsDirectory));
  const abort = new AbortController();
  const opened = withTar(files.metadataPath, 'tar', abort.signal, async ({ bytes }) => {
    for await (const piece of bytes) return piece;
    return undefined;
  });
  abort.abort(new Error('enough'));
  await expect(opened).rejects.toMatchObject({ name: 'AbortError' });
});

test('an aborted inspection and an aborted unpack throw the reason of the abort', async () => {
  const files = await stored(tarOf(metadataFile, rootfsDirectory));
  const aborted = AbortSignal.abort(new Error('enough'));
  expect(await failure(inspectImage(files, {}, aborted))).toBe('enough');
  expect(await failure(unpackImage(files, base, { asRoot: isRoot }, aborted))).toBe('enough');
});

const packings: readonly [ImageCompression, boolean][] = [
  ...(['none', 'gz', 'bz2', 'xz', 'lzma', 'zstd', 'squashfs'] as const).map(
    (kind) => [kind, false] as [ImageCompression, boolean],
  ),
  ['gz', true],
  ['xz', true],
  ['squashfs', true],
];

describe.skipIf(noBusybox !== undefined)('an image packed as', () => {
  test.each(packings)('%s, split %s, is inspected and unpacked completely', async (compression, split) => {
    const image = await buildBusyboxImage(join(base, 'images'), {
      compression,
      split,
      change: async (rootfs) => {
        await writeFile(join(rootfs, 'bin/suid'), 'x');
        await chmod(join(rootfs, 'bin/suid'), 0o4755);
        await symlink('/nowhere', join(rootfs, 'dangling'));
        if (isRoot) execFileSync('mknod', [join(rootfs, 'dev/null'), 'c', '1', '3']);
        if (isRoot) execFileSync('setcap', ['cap_net_raw+ep', join(rootfs, 'bin/busybox')]);
      },
    });
    const found = await inspectImage(image, { targetDir: base }, signal);
    expect(found.metadata.templates['/etc/hostname']).toEqual({
      when: ['create', 'copy'],
      create_only: false,
      template: 'hostname.tpl',
      properties: {},
    });
    expect(await fingerprintImage(image, signal)).toBe(image.fingerprint);

    const target = await mkdtemp(join(base, 'target-'));
    await unpackImage(image, target, { asRoot: isRoot }, signal);
    expect((await readdir(target)).toSorted()).toEqual(['metadata.yaml', 'rootfs', 'templates']);
    expect(await readdir(join(target, 'rootfs/dev'))).toEqual([]);
    expect(await readlink(join(target, 'rootfs/dangling'))).toBe('/nowhere');
    if (!isRoot) return;
    expect((await lstat(join(target, 'rootfs/bin/suid'))).mode & 0o7777).toBe(0o4755);
    expect((await lstat(join(target, 'rootfs/tmp'))).mode & 0o7777).toBe(0o1777);
    expect(execFileSync('getcap', [join(target, 'rootfs/bin/busybox')], { encoding: 'utf8' })).toMatch(/cap_net_raw/);
  });
});

describe.skipIf(noBusybox !== undefined || !isRoot)('on a full disk', () => {
  let small = '';
  beforeAll(async () => {
    small = await mkdtemp(join(base, 'small-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500k', 'gantry-test', small]);
  });
  afterAll(() => execFileSync('umount', ['--lazy', small]));

  test.each(['none', 'gz', 'squashfs'] as const)('an image packed as %s is NoSpace', async (compression) => {
    const image = await buildBusyboxImage(join(base, 'images'), { compression });
    await expect(inspectImage(image, { targetDir: small }, signal)).rejects.toMatchObject({ code: 'NoSpace' });
    const target = await mkdtemp(join(small, 'target-'));
    await expect(unpackImage(image, target, { asRoot: true }, signal)).rejects.toMatchObject({ code: 'NoSpace' });
    await rm(target, { recursive: true });
  });
});
