// Owners, access lists and file capabilities in images that a real LXD published and this daemon starts, and the other way around: the
// bytes, the ids on disk, and what the container sees after a start with shifted ids.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { realRuntimeMissing, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { treeFacts } from '../../../support/daemons/tree-facts.ts';
import { clientMissing } from '../../../support/hosts/lxd-clients.ts';
import { openLxdAndDaemon, treeIn, type LxdAndDaemon } from '../../../support/hosts/lxd-and-daemon.ts';
import { stockLxdMissing, type StockLxd } from '../../../support/hosts/stock-lxd.ts';
import { oddTreesMissing } from '../../../support/images/odd-trees.ts';

const missing = stockLxdMissing() ?? clientMissing('lxc') ?? (await realRuntimeMissing()) ?? oddTreesMissing();
if (missing !== undefined) console.log(`skipped: attributes in images of a real LXD, since ${missing}`);

/** Owners, a setuid bit, lists for users and groups, defaults, hard links, capabilities, one of which lets a program give files away. */
const plantIn = `cd "$1/odd"
echo a > setuid; chown 1000:2000 setuid; chmod 6755 setuid
echo b > listed; setfacl -m u:1234:rw,g:4321:r listed; mkdir inherits; setfacl -d -m u:1234:rwx,g:77:r inherits
setfacl -m u:1234:rx inherits; echo c > linked; ln linked link; setfacl -m u:65534:r linked
echo d > capable; chmod 755 capable; setcap cap_net_raw,cap_net_bind_service+ep capable
chmod 755 busybox; setcap cap_chown+ep busybox; echo e > tagged; setfattr -n user.tag -v value tagged`;

describe.skipIf(missing !== undefined)('an image with access lists and capabilities', () => {
  let pair: LxdAndDaemon;
  let lxd: StockLxd;
  let daemon: TestDaemon;
  let lxc: LxdAndDaemon['lxc'];
  /** Before LXD gave the files to other ids on disk. */
  let planted: Readonly<Record<string, string>> = {};
  beforeAll(async () => {
    pair = await openLxdAndDaemon('gtimga-', { runtime: 'lxc' });
    ({ lxd, daemon, lxc } = pair);
  });
  afterAll(() => pair?.cleanUp());

  const lxdRoot = (name: string): string => join(treeIn(lxd, 'default', name), 'rootfs');
  const ourRoot = (name: string): string => join(treeIn(daemon, 'default', name), 'rootfs');
  const odd = (root: string): Readonly<Record<string, string>> => treeFacts(join(root, 'odd'), { times: true });
  /** The same ids and attributes as programs in the container read them, from the id namespace and the files of its init. */
  const seenInside = (pid: number): string =>
    execFileSync(
      'nsenter',
      ['--target', String(pid), '--user', '--setuid', '0', '--setgid', '0', '--', 'sh', '-ec', look, 'sh', String(pid)],
      { encoding: 'utf8' },
    );
  const look = `cd /proc/$1/root/odd; stat -c '%n %u:%g %a %h' *; getfacl -n *; getcap * | sort`;
  const pidOf = async (remote: 'lxd' | 'gantry', name: string): Promise<number> => {
    const text = await lxc('query', `${remote}:/1.0/containers/${name}/state`);
    return (JSON.parse(text) as { readonly pid: number }).pid;
  };
  const expected = [
    'setuid 1000:2000 6755 1',
    'user:1234:rw-',
    'group:4321:r--',
    'default:user:1234:rwx',
    'default:group:77:r--',
    'user:65534:r--',
    'capable cap_net_bind_service,cap_net_raw=ep',
    'busybox cap_chown=ep',
    'link 0:0 644 2',
  ];

  test('published by LXD after it ran there, arrives whole and works in a container here', async () => {
    await lxc('init', 'lxd:busybox', 'lxd:c');
    mkdirSync(join(lxdRoot('c'), 'odd'));
    copyFileSync(join(lxdRoot('c'), 'bin/busybox'), join(lxdRoot('c'), 'odd/busybox'));
    execFileSync('sh', ['-ec', plantIn, 'sh', lxdRoot('c')]);
    planted = odd(lxdRoot('c'));
    await lxc('start', 'lxd:c');
    const there = seenInside(await pidOf('lxd', 'c'));
    for (const line of expected) expect(there).toContain(line);
    await lxc('stop', '--force', 'lxd:c');
    await lxc('publish', 'lxd:c', 'lxd:', '--alias', 'published', '--public');
    await lxc('image', 'copy', 'lxd:published', 'gantry:', '--copy-aliases');
    await lxc('init', 'gantry:published', 'gantry:c');
    expect(odd(ourRoot('c'))).toEqual(planted);
    await lxc('start', 'gantry:c');
    expect(seenInside(await pidOf('gantry', 'c'))).toBe(there);
    await givesAway('gantry', 'c');
  });

  test('published here after it ran, arrives whole and works in a container of LXD', async () => {
    const here = seenInside(await pidOf('gantry', 'c'));
    await lxc('stop', '--force', 'gantry:c');
    await lxc('publish', 'gantry:c', 'gantry:', '--alias', 'back', '--public');
    await lxc('image', 'copy', 'gantry:back', 'lxd:', '--copy-aliases');
    await lxc('init', 'lxd:back', 'lxd:back');
    expect(odd(lxdRoot('back'))).toEqual(planted);
    await lxc('start', 'lxd:back');
    expect(seenInside(await pidOf('lxd', 'back'))).toBe(here);
    await givesAway('lxd', 'back');
    await lxc('stop', '--force', 'lxd:back');
  });

  test('exported to files and imported by the other is the same', async () => {
    const name = join(lxd.dir, '..', 'image');
    const fileOf = async (image: string): Promise<string> => {
      await lxc('image', 'export', image, name);
      return [name, `${name}.tar.gz`].find((path) => existsSync(path)) ?? '';
    };
    const theirs = await fileOf('lxd:published');
    await lxc('image', 'delete', 'gantry:published');
    await lxc('image', 'import', theirs, 'gantry:', '--alias', 'theirs');
    await lxc('init', 'gantry:theirs', 'gantry:again');
    expect(odd(ourRoot('again'))).toEqual(planted);
    rmSync(theirs);
    const ours = await fileOf('gantry:back');
    await lxc('image', 'delete', 'lxd:back');
    await lxc('image', 'import', ours, 'lxd:', '--alias', 'ours');
    await lxc('init', 'lxd:ours', 'lxd:again');
    expect(odd(lxdRoot('again'))).toEqual(planted);
  });

  /** A capability in its file lets another user than root give a file away. */
  async function givesAway(remote: 'lxd' | 'gantry', name: string): Promise<void> {
    const inside = (...words: string[]): Promise<string> =>
      lxc('exec', `${remote}:${name}`, '--user', '1000', '--', ...words);
    await inside('/bin/busybox', 'touch', `/tmp/mine-${remote}`);
    await inside('/odd/busybox', 'chown', '7:8', `/tmp/mine-${remote}`);
    expect((await inside('/bin/busybox', 'stat', '-c', '%u:%g', `/tmp/mine-${remote}`)).trim()).toBe('7:8');
    await expect(inside('/bin/busybox', 'chown', '9:9', `/tmp/mine-${remote}`)).rejects.toThrow(/not permitted/);
  }
});
