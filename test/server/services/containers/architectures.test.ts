// Architectures of new containers: only those that the host runs, whether the request, the image, the original or a backup says it.
import { expect, test } from 'vitest';
import { createContainer, emptySource } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';

const daemon = await seededDaemon();
const refused = /s390x,? .*is not supported by this host; it runs /;

async function imageFor(architecture: string): Promise<string> {
  const content = `architecture: ${architecture}\ncreation_date: 1700000000\n`;
  const bytes = tarOf({ name: 'metadata.yaml', content, mode: 0o644 }, rootfsDirectory);
  const { metadata } = await daemon.ok('POST', '/1.0/images', bytes);
  return String(metadata?.['fingerprint']);
}

const tried = async (body: object): Promise<[status: number, path: string, message: string]> => {
  const { status, body: answer } = await daemon.call('POST', '/1.0/containers', body);
  const [detail] = (answer.metadata?.details ?? []) as { path: string; message: string }[];
  return [status, detail?.path ?? '', detail?.message ?? ''];
};
const architectureOf = async (name: string): Promise<string> =>
  (await daemon.get(`/1.0/containers/${name}`)).architecture;

test('a container for an architecture that the host does not run is refused, whoever says it', async () => {
  const fingerprint = await imageFor('s390x');
  const own = await imageFor((await daemon.get('/1.0')).environment.kernel_architecture as string);
  const image = { type: 'image', fingerprint };
  const fits = expect.stringMatching(refused) as string;
  expect(await tried({ name: 'a', architecture: 's390x', source: emptySource })).toEqual([400, 'architecture', fits]);
  expect(await tried({ name: 'a', source: image })).toEqual([400, 'source', fits]);
  // The files stay those of the image.
  expect(await tried({ name: 'a', architecture: 'x86_64', source: image })).toEqual([400, 'source', fits]);
  const mismatched = { name: 'a', architecture: 's390x', source: { type: 'image', fingerprint: own } };
  expect(await tried(mismatched)).toEqual([400, 'architecture', fits]);
  const migration = { type: 'migration', mode: 'push' };
  expect(await tried({ name: 'a', architecture: 's390x', source: migration })).toEqual([400, 'architecture', fits]);
  expect((await daemon.call('GET', '/1.0/containers/a')).status).toBe(404);
});

test('a container keeps a foreign architecture that it has, and starts; copies and backups of it are refused', async () => {
  await createContainer(daemon, 'old');
  // As LXD, a change takes any known architecture.
  expect((await daemon.call('PATCH', '/1.0/containers/old', { architecture: 's390x' })).status).toBe(200);
  await daemon.ok('PUT', '/1.0/containers/old', { architecture: '', profiles: ['default'] });
  expect(await architectureOf('old')).toBe('s390x');
  await daemon.ok('PUT', '/1.0/containers/old/state', { action: 'start' });
  await daemon.ok('PUT', '/1.0/containers/old/state', { action: 'stop', force: true });
  const copy = { name: 'copy', source: { type: 'copy', source: 'old' } };
  expect((await tried(copy))[2]).toMatch(refused);
  await daemon.ok('POST', '/1.0/containers/old/backups', { name: 'b' });
  const { bytes } = await daemon.call('GET', '/1.0/containers/old/backups/b/export');
  await daemon.ok('DELETE', '/1.0/containers/old');
  const restored = await daemon.call('POST', '/1.0/containers', bytes, { 'content-type': 'application/octet-stream' });
  expect([restored.status, restored.body.metadata.message]).toEqual([400, expect.stringMatching(refused)]);
});
