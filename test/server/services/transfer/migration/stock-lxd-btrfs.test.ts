// Containers and volumes between btrfs pools of a real LXD and of this daemon, as streams of btrfs: what both protocols call optimized.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import type { TestDaemon } from '../../../../support/daemons/daemon.ts';
import { describeTree, plant } from '../../../../support/daemons/two-daemons.ts';
import { clientMissing } from '../../../../support/hosts/lxd-clients.ts';
import { openLxdAndDaemon, treeIn, type LxdAndDaemon } from '../../../../support/hosts/lxd-and-daemon.ts';
import { stockLxdMissing, type StockLxd } from '../../../../support/hosts/stock-lxd.ts';

const missing =
  stockLxdMissing() ??
  clientMissing('lxc') ??
  (await btrfsMissing()) ??
  (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (missing !== undefined) console.log(`skipped: streams of btrfs from and to a real LXD, since ${missing}`);

describe.skipIf(missing !== undefined)('btrfs pools of a real LXD and of this daemon', () => {
  let pair: LxdAndDaemon;
  let lxd: StockLxd;
  let daemon: TestDaemon;
  let lxc: LxdAndDaemon['lxc'];
  beforeAll(async () => {
    pair = await openLxdAndDaemon('gtmigb-');
    ({ lxd, daemon, lxc } = pair);
    for (const remote of ['lxd', 'gantry']) await lxc('storage', 'create', `${remote}:fast`, 'btrfs', 'size=512MiB');
    await lxc('init', 'lxd:busybox', 'lxd:c', '-s', 'fast', '-c', 'user.a=b');
    const root = lxdTree('c');
    plant(root);
    inRootfs(root, 'setfacl -m u:1234:rwx etc/hostname; setfacl -d -m g:77:r etc/deep');
    inRootfs(root, 'btrfs subvolume create inner; btrfs subvolume create inner/deep; echo one > inner/deep/file');
    await lxc('snapshot', 'lxd:c', 's0');
    writeFileSync(join(root, 'rootfs/big'), randomBytes(8 * 1024 * 1024));
    inRootfs(root, 'echo two > inner/deep/file; btrfs subvolume snapshot -r inner/deep sealed');
    await lxc('snapshot', 'lxd:c', 's1');
    writeFileSync(join(root, 'rootfs/later'), 'later');
  });
  afterAll(() => pair?.cleanUp());

  const lxdTree = (name: string, snapshot?: string): string => treeIn(lxd, 'fast', name, snapshot);
  const ourTree = (name: string, snapshot?: string): string => treeIn(daemon, 'fast', name, snapshot);
  const inRootfs = (tree: string, script: string): string =>
    execFileSync('sh', ['-ec', `cd "$1"; ${script}`, 'sh', join(tree, 'rootfs')], { encoding: 'utf8' });
  /** Owners, modes, times, hashes, hard links; attributes and access lists; where subvolumes are, and which cannot be changed. */
  const facts = (tree: string): string =>
    [
      describeTree(join(tree, 'rootfs')),
      inRootfs(
        tree,
        'find . -print0 | sort -z | xargs -0 getfattr -h -d -m - --; find . ! -type l -print0 | sort -z | xargs -0 getfacl -p -n --',
      ),
      inRootfs(tree, 'find . -mindepth 1 -type d -inum 256 | sort'),
    ].join('\n');
  const expectSame = (one: (snapshot?: string) => string, other: (snapshot?: string) => string): void => {
    for (const snapshot of ['s0', 's1', undefined]) expect(facts(one(snapshot))).toBe(facts(other(snapshot)));
  };
  const sides = (name: string) => ({
    lxd: (snapshot?: string) => lxdTree(name, snapshot),
    ours: (snapshot?: string) => ourTree(name, snapshot),
  });
  /** Bytes in the file system that are only this snapshot's own: few, where it shares what it has in common with the one before. */
  const own = (path: string): number =>
    Number(
      execFileSync('btrfs', ['filesystem', 'du', '-s', '--raw', path], { encoding: 'utf8' }).match(
        /^ *\d+ +(\d+)/m,
      )?.[1],
    );

  // stock-lxd.test.ts has the other modes, which know nothing of the streams that they carry.
  test('a container with snapshots and subvolumes inside comes whole from LXD and goes back', async () => {
    await lxc('copy', 'lxd:c', 'gantry:here', '-s', 'fast');
    expectSame(sides('c').lxd, sides('here').ours);
    expect(() => writeFileSync(join(ourTree('here'), 'rootfs/sealed/file'), 'x')).toThrow(/EROFS/);
    // The 8 MiB came once.
    expect(own(ourTree('here', 's1'))).toBeLessThan(1024 * 1024);
    await lxc('copy', 'gantry:here', 'lxd:back', '-s', 'fast');
    expectSame(sides('c').lxd, sides('back').lxd);
    expect(own(lxdTree('back', 's1'))).toBeLessThan(1024 * 1024);
    expect((await lxd.get('/1.0/instances/back')).config).toMatchObject({ 'user.a': 'b' });
  });

  test('a refresh brings what is new to either side, whatever made the copy', async () => {
    writeFileSync(join(ourTree('here'), 'rootfs/later'), 'changed');
    await lxc('snapshot', 'gantry:here', 's2');
    inRootfs(ourTree('here'), 'echo three > inner/deep/file');
    await lxc('copy', '--refresh', 'gantry:here', 'lxd:back');
    for (const snapshot of ['s0', 's1', 's2', undefined])
      expect(facts(lxdTree('back', snapshot))).toBe(facts(ourTree('here', snapshot)));
    writeFileSync(join(lxdTree('back'), 'rootfs/later'), 'other');
    await lxc('snapshot', 'lxd:back', 's3');
    await lxc('copy', '--refresh', 'lxd:back', 'gantry:here');
    expect(readFileSync(join(ourTree('here'), 'rootfs/later'), 'utf8')).toBe('other');
    expect(readFileSync(join(ourTree('here', 's3'), 'rootfs/later'), 'utf8')).toBe('other');
    expect(readFileSync(join(ourTree('here'), 'rootfs/inner/deep/file'), 'utf8')).toBe('three\n');
  });

  test('a running container is copied as it is at one moment, with --stateless', async () => {
    await lxc('start', 'gantry:here');
    await lxc('copy', 'gantry:here', 'lxd:of-running', '-s', 'fast', '--stateless');
    expectSame(sides('of-running').lxd, sides('here').ours);
    await lxc('stop', '--force', 'gantry:here');
  });

  test('one snapshot, and a container without its snapshots, travel alone', async () => {
    await lxc('copy', 'lxd:c', 'gantry:alone', '-s', 'fast', '--instance-only');
    expect(facts(ourTree('alone'))).toBe(facts(lxdTree('c')));
    expect(existsSync(ourTree('alone', 's0'))).toBe(false);
    await lxc('copy', 'lxd:c/s0', 'gantry:of-snapshot', '-s', 'fast');
    expect(facts(ourTree('of-snapshot'))).toBe(facts(lxdTree('c', 's0')));
    await lxc('copy', 'gantry:alone', 'lxd:alone', '-s', 'fast', '--instance-only');
    expect(facts(lxdTree('alone'))).toBe(facts(lxdTree('c')));
    await lxc('snapshot', 'gantry:alone', 'one');
    await lxc('copy', 'gantry:alone/one', 'lxd:of-snapshot', '-s', 'fast');
    expect(facts(lxdTree('of-snapshot'))).toBe(facts(lxdTree('c')));
  });

  test('rsync carries the files where one of the pools is no btrfs', async () => {
    const file = (tree: string): Buffer => readFileSync(join(tree, 'rootfs/big'));
    await lxc('copy', 'lxd:c', 'gantry:plain', '-s', 'default');
    expect(file(treeIn(daemon, 'default', 'plain')).equals(file(lxdTree('c')))).toBe(true);
    await lxc('copy', 'gantry:plain', 'lxd:of-plain', '-s', 'fast');
    expect(file(lxdTree('of-plain')).equals(file(lxdTree('c')))).toBe(true);
    await lxc('copy', 'gantry:alone', 'lxd:to-plain', '-s', 'default');
    expect(file(treeIn(lxd, 'default', 'to-plain')).equals(file(lxdTree('c')))).toBe(true);
  });

  test('a custom volume with a snapshot comes whole from LXD and goes back', async () => {
    await lxc('storage', 'volume', 'create', 'lxd:fast', 'v', 'user.a=b');
    const theirs = join(lxd.dir, 'storage-pools/fast/custom/default_v');
    const ours = join(daemon.dir, 'storage-pools/fast');
    execFileSync('sh', ['-ec', 'cd "$1"; echo in > file; ln file hard; setfacl -m u:9:r file', 'sh', theirs]);
    await lxc('storage', 'volume', 'snapshot', 'lxd:fast', 'v', 's0');
    writeFileSync(join(theirs, 'file'), 'changed');
    await lxc('storage', 'volume', 'copy', 'lxd:fast/v', 'gantry:fast/v');
    const acl = (path: string): string => execFileSync('getfacl', ['-cn', path], { encoding: 'utf8' });
    expect(readFileSync(join(ours, 'custom/v/hard'), 'utf8')).toBe('changed');
    expect(readFileSync(join(ours, 'custom-snapshots/v/s0/hard'), 'utf8')).toBe('in\n');
    expect(acl(join(ours, 'custom/v/file'))).toBe(acl(join(theirs, 'file')));
    await lxc('storage', 'volume', 'copy', 'gantry:fast/v', 'lxd:fast/w');
    const back = join(lxd.dir, 'storage-pools/fast/custom/default_w');
    expect(describeTree(back)).toBe(describeTree(theirs));
    expect(acl(join(back, 'file'))).toBe(acl(join(theirs, 'file')));
  });

  test('a failure leaves nothing behind on either side', async () => {
    const scratch = (dir: string): readonly string[] => readdirSync(join(dir, 'storage-pools/fast/tmp'));
    await lxc('storage', 'create', 'gantry:small', 'btrfs', 'size=128MiB');
    inRootfs(lxdTree('c'), 'head -c 150M /dev/urandom > huge');
    const full = await lxc.run(['copy', 'lxd:c', 'gantry:full', '-s', 'small']);
    rmSync(join(lxdTree('c'), 'rootfs/huge'));
    expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/no space is left/) });
    expect((await daemon.call('GET', '/1.0/containers/full')).status).toBe(404);
    expect(existsSync(treeIn(daemon, 'small', 'full', 's0'))).toBe(false);
    expect(scratch(daemon.dir)).toEqual([]);
  });
});
