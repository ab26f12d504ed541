// Operations belong to the project of their request, also those on images and volumes that it has from the project default.
import { beforeAll, expect, test } from 'vitest';
import { listenOn, type Answer, type Sent } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeProject } from '../../../support/daemons/projects.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';

const daemon = await seededDaemon({ https: '127.0.0.1:0' });
beforeAll(async () => {
  await makeProject(daemon, 'p', { 'features.images': 'false', 'features.storage.volumes': 'false' });
  await daemon.call('POST', `${volumes}?project=p`, { name: 'v', type: 'custom' });
});

const volumes = '/1.0/storage-pools/default/volumes';
const snapshots = `${volumes}/custom/v/snapshots`;
const image = tarOf({ name: 'metadata.yaml', content: goodMetadata, mode: 0o644 }, rootfsDirectory);
const unreachable = {
  type: 'image',
  mode: 'pull',
  protocol: 'svc',
  server: 'https://127.0.0.1:1',
  fingerprint: 'f'.repeat(64),
};
let fingerprint = '';

/** In this order: the later ones are about what the earlier ones made. */
const requests: readonly (readonly [what: string, method: string, path: () => string, body: Sent])[] = [
  ['import of an image', 'POST', () => '/1.0/images', image],
  ['download of an image', 'POST', () => '/1.0/images', { source: unreachable }],
  ['refresh of an image', 'POST', () => `/1.0/images/${fingerprint}/refresh`, {}],
  ['secret of an image', 'POST', () => `/1.0/images/${fingerprint}/secret`, {}],
  ['deletion of an image', 'DELETE', () => `/1.0/images/${fingerprint}`, undefined],
  [
    'copy of a volume',
    'POST',
    () => volumes,
    { name: 'w', type: 'custom', source: { type: 'copy', pool: 'default', name: 'v' } },
  ],
  ['snapshot of a volume', 'POST', () => snapshots, { name: 's' }],
  ['rename of a volume snapshot', 'POST', () => `${snapshots}/s`, { name: 't' }],
  ['deletion of a volume snapshot', 'DELETE', () => `${snapshots}/t`, undefined],
  ['migration of a volume', 'POST', () => `${volumes}/custom/v`, { name: 'v', migration: true }],
  [
    'arrival of a volume',
    'POST',
    () => volumes,
    { name: 'x', type: 'custom', source: { type: 'migration', mode: 'push' } },
  ],
  ['token for a client', 'POST', () => '/1.0/certificates', { name: 'c', type: 'client', token: true }],
];

test.each(requests)('the %s belongs to the project that asks, not to the owner', async (_what, method, path, body) => {
  const heard = await Promise.all(
    ['p', 'default'].map((project) =>
      listenOn(`ws+unix://${daemon.socketPath}:/1.0/events?type=operation&project=${project}`),
    ),
  );
  const answer = await daemon.call(method, `${path()}?project=p`, body);
  expect([answer.status, answer.bytes.toString()]).toEqual([202, expect.any(String)]);
  const url = String(answer.body.operation);
  expect(await statusesAt(url)).toEqual([200, 404]);
  const { metadata }: Answer = await daemon.call('GET', `${url}/wait?project=p&timeout=1`);
  if (method === 'POST' && path() === '/1.0/images') fingerprint ||= metadata.metadata.fingerprint;
  const isIt = ({ metadata: published }: { metadata: unknown }): boolean =>
    (published as { id: string }).id === metadata.id;
  await heard[0]?.next(isIt);
  expect(heard[1]?.events.filter(isIt)).toEqual([]);
  for (const each of heard) each.close();
  if (metadata.may_cancel === true) await daemon.call('DELETE', url);
});

const statusesAt = async (url: string): Promise<readonly number[]> =>
  Promise.all(['p', 'default'].map(async (project) => (await daemon.call('GET', `${url}?project=${project}`)).status));
