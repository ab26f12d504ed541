// Real containers move between two daemons with real runtimes: files of root and other users keep their owners at the target, and the
// container runs there.
import { existsSync } from 'node:fs';
import { readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyContainer, moveContainer } from '../../../../../server/client/index.ts';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import {
  createContainer,
  realRuntimeMissing,
  setState,
  statusOf,
  type TestDaemon,
} from '../../../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../../../support/images/busybox.ts';
import { loopsGone, mountsBelow } from '../../../../support/hosts/mounts.ts';
import { twoDaemons, type TwoDaemons } from '../../../../support/daemons/two-daemons.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: migration of real containers: ${missing}`);
const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: migration of real containers between btrfs pools: ${noBtrfs}`);

const pairs = [['dir', 'dir'], ...(noBtrfs === undefined ? ([['btrfs', 'btrfs']] as const) : [])] as const;

describe.skipIf(missing !== undefined).each(pairs)('real containers from %s to %s', (...drivers) => {
  let two: TwoDaemons;
  let work = '';
  beforeAll(async () => {
    work = await realpath(tempFolder('gtya-real-'));
    const built = await buildBusyboxImage(join(work, 'image'), {});
    two = await twoDaemons({ runtime: 'lxc', drivers });
    await two.a.daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), {
      'x-svc-aliases': 'alias=busybox',
    });
  });
  afterAll(async () => {
    await two?.cleanUp();
    await rm(work, { recursive: true, force: true });
    if (two === undefined) return;
    for (const { daemon } of [two.a, two.b]) {
      expect(mountsBelow(daemon.dir)).toEqual([]);
      await loopsGone(daemon.dir);
    }
  });

  const run = async (daemon: TestDaemon, name: string, script: string): Promise<string> => {
    const ended = await daemon.ok('POST', `/1.0/containers/${name}/exec`, {
      command: ['sh', '-c', script],
      'record-output': true,
    });
    const output = ended.metadata?.['output'] as Record<string, string>;
    return (await daemon.call('GET', output['1'] ?? '')).bytes.toString().trim();
  };
  const look = 'cat /root-file; stat -c "%u:%g %a" /root-file /srv/own /srv/node; cat /srv/own';

  test('is copied while it runs, brought up to date, and moved', async () => {
    const { a, b } = two;
    await createContainer(a.daemon, 'c', { source: { type: 'image', alias: 'busybox' } });
    expect((await setState(a.daemon, 'c', 'start')).err).toBe('');
    await run(
      a.daemon,
      'c',
      'echo one > /root-file; mkdir -p /srv; echo mine > /srv/own; chown 1000:2000 /srv/own; chmod 4711 /srv/own; mkfifo /srv/node',
    );
    await a.daemon.ok('POST', '/1.0/containers/c/snapshots', { name: 's' });
    const original = await run(a.daemon, 'c', look);
    await copyContainer({ client: a.remote, name: 'c' }, { client: b.remote, name: 'copy' }, { live: false });
    expect((await setState(b.daemon, 'copy', 'start')).err).toBe('');
    expect(await run(b.daemon, 'copy', look)).toBe(original);
    await run(b.daemon, 'copy', 'echo here > /root-file; echo x > /stray');
    expect((await setState(b.daemon, 'copy', 'stop', { force: true })).err).toBe('');

    await run(a.daemon, 'c', 'echo two > /root-file');
    const later = await run(a.daemon, 'c', look);
    const refresh = { live: false, refresh: true };
    await copyContainer({ client: a.remote, name: 'c' }, { client: b.remote, name: 'copy' }, refresh);
    expect((await setState(b.daemon, 'copy', 'start')).err).toBe('');
    expect(await run(b.daemon, 'copy', look)).toBe(later);
    expect(await run(b.daemon, 'copy', 'ls /stray 2>/dev/null || echo gone')).toBe('gone');

    const live = copyContainer({ client: a.remote, name: 'c' }, { client: b.remote, name: 'live' }, { live: true });
    await expect(live).rejects.toThrow(/cannot be migrated live/);
    expect(await statusOf(a.daemon, 'c')).toBe('Running');
    expect((await setState(a.daemon, 'c', 'stop', { force: true })).err).toBe('');
    await moveContainer({ client: a.remote, name: 'c' }, { client: b.remote, name: 'moved' }, { mode: 'push' });
    expect((await a.daemon.call('GET', '/1.0/containers/c')).status).toBe(404);
    await b.daemon.ok('PUT', '/1.0/containers/moved', { restore: 's' });
    expect((await setState(b.daemon, 'moved', 'start')).err).toBe('');
    expect(await run(b.daemon, 'moved', look)).toBe(original);
  });
});
