// A tenant uploads backups of volumes that it wrote itself, and requests those of others: it gets volumes of its own project, or nothing.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { volumeBackupByHand, type VolumeByHand } from '../../../support/hostile/backups.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';

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
