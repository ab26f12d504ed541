// A tenant uploads backups of volumes that it wrote itself, and requests those of others: it gets volumes of its own project, or nothing.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { volumeBackupByHand, type VolumeByHand } from '../../../support/hostile/backups.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';
import type { TarPiece } from '../../../support/images/hostile.ts';

const suite = useSharedHost('volb');
const custom = '/1.0/storage-pools/default/volumes/custom';
const own = '?project=mine';
const octets = { 'content-type': 'application/octet-stream', 'x-svc-allow-host-access': 'true' };
const volumes = (...rest: string[]): string => join(suite.host.admin.dir, 'storage-pools/default/custom', ...rest);

async function upload(name: string, byHand: VolumeByHand = {}): Promise<string> {
  const answer = await suite.host.tenant('POST', `${custom}${own}`, volumeBackupByHand(name, byHand), octets);
  if (answer.status !== 202) return answer.metadata?.message ?? '';
  return (await suite.host.admin.wait(answer.body.operation as string)).err;
}

test('a backup becomes a volume of the project of the tenant, whatever project it names', async () => {
  expect(await upload('vol', { volume: { project: 'theirs', config: { 'user.a': 'b' } } })).toBe('');
  const made = await suite.host.tenant('GET', `${custom}/vol${own}`);
  expect(made.metadata).toMatchObject({ project: 'mine', config: { 'user.a': 'b' } });
  expect(await suite.host.others()).toBe(suite.before);
});

test.each(['theirs%x', '../x', 'theirs/x', '..'])('a backup that is called %j becomes no volume', async (name) => {
  const there = readdirSync(volumes());
  expect(await upload(name)).toMatch(/Invalid storage volume name/);
  expect(readdirSync(volumes())).toEqual(there);
});

test('device nodes are not restored, even if the tenant claims to trust the backup', async () => {
  const change = (header: Buffer): void => {
    header.write('0000001', 329);
    header.write('0000001', 337);
  };
  const files = [{ name: 'backup/volume/mem', flag: '3', change }];
  expect(await upload('nodes', { files })).toBe('');
  expect(readdirSync(volumes('mine%nodes'))).toEqual([]);
});

describe('a backup is refused, and leaves nothing', () => {
  const file = (name: string, content = 'evil'): TarPiece => ({ name, content, mode: 0o644 });
  const link = (name: string, to: string): TarPiece => ({ name, flag: '2', link: to });
  const hardLink = (name: string, to: string): TarPiece => ({ name, flag: '1', link: to });
  const outside = (name: string): string => join(suite.outside, name);

  test.each<[string, VolumeByHand, RegExp]>([
    [
      'files through a link',
      { files: [link('backup/volume/l', suite.outside), file('backup/volume/l/evil')] },
      /passes through the symbolic link/,
    ],
    ['a name that climbs', { files: [file('backup/volume/../../../evil')] }, /leads out of the backup/],
    ['a name that climbs at its end', { files: [file('backup/volume/..')] }, /leads out of the backup/],
    ['an absolute name', { files: [file(outside('evil'))] }, /is no part of a backup/],
    [
      'a link as the volume',
      { files: [link('backup/volume', suite.outside)] },
      /must be|is a symbolic link|there twice/,
    ],
    ['a hard link out of it', { files: [hardLink('backup/volume/h', outside('target'))] }, /outside of its part/],
    [
      'a hard link that climbs',
      { files: [hardLink('backup/volume/h', 'backup/volume/../../t')] },
      /outside of the backup/,
    ],
    [
      'a hard link into a snapshot',
      { snapshots: ['s'], files: [hardLink('backup/volume/h', 'backup/volume-snapshots/s/a')] },
      /outside of its part/,
    ],
    ['a snapshot that is called ..', { snapshots: ['..'] }, /Invalid snapshot name|no part of a backup/],
    ['a snapshot of others', { snapshots: ['theirs%vol/vsnap'] }, /Invalid snapshot name|has no description/],
    ['a snapshot twice', { snapshots: ['s', 's'] }, /twice|not together/],
    ['a snapshot without files', { index: { snapshots: ['s'] } }, /has no description|are missing/],
    [
      'a snapshot that the index does not name',
      { snapshots: ['s'], index: { snapshots: [] } },
      /not in its list of snapshots/,
    ],
    [
      'a stream of btrfs for a pool of dir',
      { index: { optimized: true, backend: 'btrfs' } },
      /form of the storage driver btrfs/,
    ],
  ])('%s', async (_what, byHand, message) => {
    writeFileSync(outside('target'), 'as it was');
    const there = [readdirSync(volumes()), readdirSync(volumes('../custom-snapshots'))];
    expect(await upload('hostile', byHand)).toMatch(message);
    expect([readdirSync(volumes()), readdirSync(volumes('../custom-snapshots'))]).toEqual(there);
    expect(readdirSync(suite.outside)).toEqual(['target']);
    expect(readFileSync(outside('target'), 'utf8')).toBe('as it was');
    expect((await suite.host.tenant('GET', `${custom}/hostile${own}`)).status).toBe(404);
    expect(await suite.host.others()).toBe(suite.before);
  });
});

test('restricted.backups forbids backups of volumes, and limits.disk counts them', async () => {
  const set = (config: object) => suite.host.admin.call('PATCH', '/1.0/projects/mine', { config });
  await set({ 'restricted.backups': 'block' });
  const barred = await suite.host.tenant('POST', `${custom}/data/backups${own}`, {});
  expect([barred.status, barred.metadata.message]).toEqual([403, expect.stringContaining('restricted.backups')]);
  await set({ 'restricted.backups': 'allow' });
  const made = await suite.host.tenant('POST', `${custom}/data/backups${own}`, { name: 'b' });
  expect((await suite.host.admin.wait(made.body.operation as string)).err).toBe('');
  const { size } = (await suite.host.tenant('GET', `${custom}/data/backups/b${own}`)).metadata;
  const { disk } = (await suite.host.tenant('GET', '/1.0/projects/mine/state')).metadata.resources;
  expect(disk.Usage ?? disk.usage).toBeGreaterThanOrEqual(size as number);
  const dropped = await suite.host.tenant('DELETE', `${custom}/data/backups/b${own}`);
  expect((await suite.host.admin.wait(dropped.body.operation as string)).err).toBe('');
});
