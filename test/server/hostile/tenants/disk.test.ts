// A tenant with a disk limit fills the server with snapshots and backups instead: they count, too, and whatever does not fit leaves no file
// behind.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: disks of tenants: ${noBtrfs}`);

const suite = useSharedHost('disk');
const mib = 1024 ** 2;
const own = 'project=mine';

/** The error of the tenant's request, or of its operation. */
async function ask(method: string, path: string, body?: object): Promise<string> {
  const answer = await suite.host.tenant(method, `${path}?${own}`, body);
  if (answer.status !== 202) return answer.status < 300 ? '' : answer.bytes.toString();
  const ended: Operation = await suite.host.admin.wait(answer.body.operation as string);
  return ended.err;
}

const limit = (size: string) =>
  suite.host.admin.call('PATCH', '/1.0/projects/mine', { config: { 'limits.disk': size } });
const used = async (): Promise<number> =>
  (await suite.host.admin.get('/1.0/projects/mine/state')).resources.disk.Usage as number;
const backupFiles = (): readonly number[] =>
  readdirSync(join(suite.host.admin.dir, 'backups')).map(
    (name) => statSync(join(suite.host.admin.dir, 'backups', name)).size,
  );
const snapshotsOf = async (what: string): Promise<number> =>
  (await suite.host.tenant('GET', `${what}/snapshots?${own}`)).metadata.length as number;

const root = { type: 'disk', path: '/', pool: 'sized', size: '10MiB' };

describe.skipIf(noBtrfs !== undefined)('a limit on disks', () => {
  beforeAll(async () => {
    const { admin } = suite.host;
    await admin.ok('DELETE', `/1.0/containers/own?${own}`);
    await admin.call('DELETE', `/1.0/storage-pools/default/volumes/custom/data?${own}`);
    await admin.call('POST', '/1.0/storage-pools', { name: 'sized', driver: 'btrfs', config: { size: '256MiB' } });
    const devices = { root };
    expect(await ask('POST', '/1.0/containers', { name: 'full', source: { type: 'none' }, devices })).toBe('');
    const file = await suite.host.tenant('POST', `/1.0/containers/full/files?path=/f&${own}`, randomBytes(4 * mib), {
      'content-type': 'application/octet-stream',
    });
    expect(file.status).toBe(200);
  });

  test('snapshots count with their content, and one that does not fit leaves nothing', async () => {
    expect((await limit('20MiB')).status).toBe(200);
    const before = await used();
    const ends: string[] = [];
    for (let n = 0; n < 4; n += 1) ends.push(await ask('POST', '/1.0/containers/full/snapshots', { name: `s${n}` }));
    expect(ends.slice(0, 2)).toEqual(['', '']);
    expect(ends.slice(2)).toEqual(Array(2).fill(expect.stringMatching(/limits\.disk would be .*at most 20MiB/)));
    expect(await snapshotsOf('/1.0/containers/full')).toBe(2);
    expect((await used()) - before).toBeGreaterThanOrEqual(8 * mib);
    expect(await used()).toBeLessThanOrEqual(20 * mib);
    const there = readdirSync(join(suite.host.admin.dir, 'storage-pools/sized'), { recursive: true }).map(String);
    expect(there.filter((name) => /\bs[23]$/.test(name))).toEqual([]);
    expect(await ask('DELETE', '/1.0/containers/full/snapshots/s0')).toBe('');
    expect(await ask('POST', '/1.0/containers/full/snapshots', { name: 's9' })).toBe('');
  });

  test('a copy includes its snapshots only if they fit', async () => {
    const source = { type: 'copy', source: 'full' };
    await limit('40MiB');
    expect(await ask('POST', '/1.0/containers', { name: 'a', source, devices: { root } })).toBe('');
    await limit('52MiB');
    expect(await ask('POST', '/1.0/containers', { name: 'b', source, devices: { root } })).toContain('limits.disk');
    expect((await suite.host.tenant('GET', `/1.0/containers/b?${own}`)).status).toBe(404);
    expect(await ask('DELETE', '/1.0/containers/a')).toBe('');
  });

  test('backups count with their files, even when many are written at once, and partial ones are removed', async () => {
    const room = 10 * mib;
    const max = (await used()) + room;
    expect((await limit(String(max))).status).toBe(200);
    const body = (name: string) => ({ name, compression_algorithm: 'none', container_only: true });
    const ends = await Promise.all(
      Array.from({ length: 8 }, (_, n) => ask('POST', '/1.0/containers/full/backups', body(`b${n}`))),
    );
    expect(ends.filter((err) => err === '').length).toBeLessThanOrEqual(2);
    for (const err of ends) if (err !== '') expect(err).toMatch(/limits\.disk/);
    expect(await ask('POST', '/1.0/containers/full/backups', body('last'))).toMatch(/^$|limits\.disk/);
    expect(await used()).toBeLessThanOrEqual(max);
    const size = backupFiles().reduce((sum, each) => sum + each, 0);
    expect(size).toBeGreaterThanOrEqual(4 * mib);
    const { length: count } = (await suite.host.tenant('GET', `/1.0/containers/full/backups?${own}`)).metadata;
    expect(await ask('POST', '/1.0/containers/full/backups', body('more'))).toContain(count === 2 ? 'limits.disk' : '');
  });

  test('snapshots of volumes count with their content', async () => {
    await limit(String((await used()) + 10 * mib + 1));
    const volume = '/1.0/storage-pools/sized/volumes/custom';
    expect(await ask('POST', volume, { name: 'v', config: { size: '10MiB' } })).toBe('');
    expect(await ask('POST', `${volume}/v/snapshots`, { name: 's' })).toContain('limits.disk');
    expect(await snapshotsOf(`${volume}/v`)).toBe(0);
  });
});
