// Architectures that a server runs: plans that need another one, and dry runs of them.
import { expect, test } from 'vitest';
import { runnableArchitectures } from '../../../reconciler/core/live/architectures.ts';
import { startDryRunDaemon } from '../../../server/daemon/dry-run-daemon.ts';
import { call } from '../../support/daemons/daemon.ts';
import { emptyServer } from '../../support/daemons/in-memory.ts';
import { plan, root, source } from '../../support/fakes/plan-host.ts';
import {
  document,
  fingerprintOf,
  liveAlias,
  liveContainer,
  liveImage,
  livePool,
  liveProfile,
  world,
} from '../../support/fakes/worlds.ts';

const s390x = fingerprintOf('s390x');
const server = { extensions: [], isGantry: true, architectures: ['x86_64', 'i686'] };
const lists = {
  pools: [livePool('fast')],
  profiles: [liveProfile('default')],
  images: [liveImage(fingerprintOf('base')), liveImage(s390x, { architecture: 's390x' })],
  aliases: [liveAlias('base', fingerprintOf('base')), liveAlias('foreign', s390x)],
};
const devices = { root };
const foreign = { type: 'image', alias: 'foreign' };
const wanted = [
  document('container', 'fits', { devices, source, architecture: 'amd64' }),
  document('container', 'own', { devices, source, architecture: 'arm64' }),
  document('container', 'image', { devices, source: foreign }),
];
const found = (observed: Parameters<typeof plan>[1]): readonly string[] =>
  plan(wanted, observed).diagnostics.map(({ severity, address, path }) => `${severity} ${address ?? ''} ${path ?? ''}`);

test('a plan names new containers whose architecture, or that of their image, no host of the server runs', () => {
  const inOrder = ['error container/image source', 'error container/own architecture'];
  expect(found({ ...world(lists), server })).toEqual(inOrder);
  // LXD makes a container for the architecture of its image, whatever the request says.
  expect(found({ ...world(lists), server: { ...server, isGantry: false } })).toEqual(inOrder.slice(0, 1));
  expect(found({ ...world(lists), server: { extensions: [] } })).toEqual([]);
  const [first] = plan(wanted.slice(1, 2), { ...world(lists), server }).diagnostics;
  expect(first?.message).toBe(
    'the server would refuse container/own: it is for aarch64, and the host runs x86_64, i686',
  );
});

test('containers that exist keep their architecture', () => {
  const containers = [
    liveContainer('own', { architecture: 'aarch64', devices, expanded_devices: devices }),
    liveContainer('image', { architecture: 's390x', devices, expanded_devices: devices }),
  ];
  expect(found({ ...world({ ...lists, containers }), server })).toEqual([]);
});

test('a cluster runs the architectures of all members, and is not judged when one is unknown', () => {
  const online = { status: 'Online' };
  const members = (second: object) =>
    new Map([
      ['m1', { ...online, architecture: 'x86_64' }],
      ['m2', { ...online, ...second }],
    ]);
  const mixed = { ...world(lists), server, members: members({ architecture: 'aarch64' }) };
  expect(runnableArchitectures(mixed)).toEqual(['x86_64', 'i686', 'aarch64', 'armv7l']);
  expect(runnableArchitectures({ ...mixed, members: members({}) })).toBeUndefined();
});

test('a dry run answers with the architectures of the other host, and takes any when they are unknown', async () => {
  const answer = async (architectures: readonly string[] | undefined, architecture: string): Promise<string> => {
    const host = { ...emptyServer.host, ...(architectures === undefined ? {} : { architectures }) };
    const daemon = await startDryRunDaemon({ ...emptyServer, pools: [livePool('fast')], host });
    try {
      const body = { name: 'c', architecture, profiles: [], devices, source: { type: 'none' } };
      const { status, metadata } = await call({ socketPath: daemon.socketPath }, 'POST', '/1.0/containers', body);
      return `${status} ${metadata.message ?? ''}`;
    } finally {
      await daemon.stop();
    }
  };
  expect(await answer(['s390x'], 's390x')).toBe('202 ');
  expect(await answer(['s390x'], 'x86_64')).toMatch(/^400 .*x86_64 is not supported by this host; it runs s390x/);
  expect(await answer(undefined, 's390x')).toBe('202 ');
});
