// Containers and volumes move between two daemons: every mode, both storage drivers, and refusals.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyContainer, moveContainer, type MigrationMode } from '../../../../../server/client/index.ts';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { createContainer } from '../../../../support/daemons/daemon.ts';
import { makeContainerIn, makeProject } from '../../../../support/daemons/projects.ts';
import {
  describeTree,
  plant,
  snapshotDir,
  twoDaemons,
  volumeDir,
  type TwoDaemons,
} from '../../../../support/daemons/two-daemons.ts';

const noBtrfs = await btrfsMissing();
if (noBtrfs !== undefined) console.log(`skipped: migration between btrfs pools: ${noBtrfs}`);

const pairs = [
  ['dir', 'dir'],
  ...(noBtrfs === undefined
    ? ([
        ['btrfs', 'btrfs'],
        ['btrfs', 'dir'],
        ['dir', 'btrfs'],
      ] as const)
    : []),
] as const;

describe.each(pairs)('from %s to %s', (...drivers) => {
  let two: TwoDaemons;
  beforeAll(async () => (two = await twoDaemons({ drivers })));
  afterAll(() => two.cleanUp());
  // The connecting side does not affect the transfer of files, nor the kind of pool what becomes of records.
  const isPlain = drivers[0] === 'dir' && drivers[1] === 'dir';

  test.each(isPlain ? (['pull', 'push'] as const) : [])(
    'a container goes from a project into another, and nothing of the names beside it is touched: %s',
    async (mode) => {
      const { a, b } = two;
      const name = `p-${mode}`;
      const [out, into] = [`out-${mode}`, `into-${mode}`];
      await makeProject(a.daemon, out);
      await makeProject(b.daemon, into);
      for (const [daemon, project] of [
        [a.daemon, out],
        [a.daemon, 'default'],
        [b.daemon, 'default'],
      ] as const)
        await makeContainerIn(daemon, project, name, { description: `of ${project}` });
      writeFileSync(join(volumeDir(a, `${out}%${name}`), 'rootfs/mark'), 'moved');
      await a.daemon.ok('POST', `/1.0/containers/${name}/snapshots?project=${out}`, { name: 's' });
      const [from, to] = [a.remote.inProject(out), b.remote.inProject(into)];
      await moveContainer({ client: from, name }, { client: to, name }, { mode });
      expect((await a.daemon.call('GET', `/1.0/containers/${name}?project=${out}`)).status).toBe(404);
      expect((await b.daemon.get(`/1.0/containers/${name}?project=${into}`)).description).toBe(`of ${out}`);
      expect(readFileSync(join(volumeDir(b, `${into}%${name}`), 'rootfs/mark'), 'utf8')).toBe('moved');
      expect(readFileSync(join(snapshotDir(b, `${into}%${name}`, 's'), 'rootfs/mark'), 'utf8')).toBe('moved');
      for (const { daemon } of [a, b])
        expect((await daemon.get(`/1.0/containers/${name}`)).description).toBe('of default');
      // And out of the project again, into the one of all.
      await copyContainer({ client: to, name }, { client: a.remote, name: `${name}-back` }, { mode });
      expect(readFileSync(join(volumeDir(a, `${name}-back`), 'rootfs/mark'), 'utf8')).toBe('moved');
    },
  );

  const modes = isPlain ? (['pull', 'push', 'relay'] as const) : (['pull'] as const);
  test.each(modes)('a container with its snapshots is copied: %s', async (mode) => {
    const { a, b } = two;
    const name = `c-${mode}`;
    await createContainer(a.daemon, name, {
      config: { 'user.note': 'kept', 'boot.autostart.priority': '7' },
      description: 'the original',
      devices: { eth0: { type: 'nic', nictype: 'p2p' } },
    });
    plant(volumeDir(a, name));
    await a.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 'first', description: 'old' });
    writeFileSync(join(volumeDir(a, name), 'rootfs/etc/hostname'), 'two\n');
    await a.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 'second' });
    writeFileSync(join(volumeDir(a, name), 'rootfs/etc/hostname'), 'three\n');
    const seen: unknown[] = [];
    const [from, to] = mode === 'relay' ? [a.local, b.local] : [a.remote, b.remote];
    await copyContainer(
      { client: from, name },
      { client: to, name: `${name}-copy` },
      { mode, onUpdate: ({ metadata }) => seen.push(metadata?.['fs_progress']) },
    );
    expect(describeTree(volumeDir(b, `${name}-copy`))).toEqual(describeTree(volumeDir(a, name)));
    for (const snapshot of ['first', 'second'])
      expect(describeTree(snapshotDir(b, `${name}-copy`, snapshot))).toEqual(
        describeTree(snapshotDir(a, name, snapshot)),
      );
    const [original, copy] = [
      await a.daemon.get(`/1.0/containers/${name}?recursion=1`),
      await b.daemon.get(`/1.0/containers/${name}-copy?recursion=1`),
    ];
    expect(copy).toMatchObject({ description: 'the original', devices: original.devices, profiles: ['default'] });
    expect(copy.config).toMatchObject({ 'user.note': 'kept', 'boot.autostart.priority': '7' });
    expect(copy.config['volatile.eth0.hwaddr']).not.toBe(original.config['volatile.eth0.hwaddr']);
    expect(copy.snapshots.map((one: { name: string; created_at: string }) => [one.name, one.created_at])).toEqual(
      original.snapshots.map((one: { name: string; created_at: string }) => [one.name, one.created_at]),
    );
    expect(seen.some((text) => /^c-\S+: [\d.]+k?M?B \([\d.]+k?M?G?B\/s\)$/.test(String(text)))).toBe(true);
  });

  test('an arrived container can be changed, restored and started', async () => {
    const { a, b } = two;
    await createContainer(a.daemon, 'used');
    await a.daemon.ok('POST', '/1.0/containers/used/snapshots', { name: 's' });
    await copyContainer({ client: a.remote, name: 'used' }, { client: b.remote, name: 'used' });
    writeFileSync(join(volumeDir(b, 'used'), 'rootfs/new'), 'x');
    await b.daemon.ok('PUT', '/1.0/containers/used', { restore: 's' });
    expect(describeTree(volumeDir(b, 'used'))).toEqual(describeTree(volumeDir(a, 'used')));
    await b.daemon.ok('PUT', '/1.0/containers/used/state', { action: 'start' });
    await b.daemon.ok('DELETE', '/1.0/containers/used/snapshots/s');
  });

  test.each(isPlain ? ['moved'] : [])('a move keeps the addresses and leaves nothing behind: %s', async (moved) => {
    const { a, b } = two;
    await createContainer(a.daemon, 'mover', { devices: { eth0: { type: 'nic', nictype: 'p2p' } } });
    const address = (await a.daemon.get('/1.0/containers/mover')).config['volatile.eth0.hwaddr'];
    await moveContainer({ client: a.remote, name: 'mover' }, { client: b.remote, name: moved });
    expect((await a.daemon.call('GET', '/1.0/containers/mover')).status).toBe(404);
    expect((await b.daemon.get(`/1.0/containers/${moved}`)).config['volatile.eth0.hwaddr']).toBe(address);
  });

  test('a snapshot becomes a container, and container_only leaves snapshots out', async () => {
    const { a, b } = two;
    await createContainer(a.daemon, 'history');
    writeFileSync(join(volumeDir(a, 'history'), 'rootfs/then'), 'x');
    await a.daemon.ok('POST', '/1.0/containers/history/snapshots', { name: 's' });
    writeFileSync(join(volumeDir(a, 'history'), 'rootfs/now'), 'x');
    await copyContainer({ client: a.remote, name: 'history/s' }, { client: b.remote, name: 'then' });
    expect(describeTree(volumeDir(b, 'then'))).toEqual(describeTree(snapshotDir(a, 'history', 's')));
    const only = { containerOnly: true, mode: 'push' as MigrationMode };
    await copyContainer({ client: a.remote, name: 'history' }, { client: b.remote, name: 'now' }, only);
    expect(readFileSync(join(volumeDir(b, 'now'), 'rootfs/now'), 'utf8')).toBe('x');
    for (const name of ['then', 'now']) expect(await b.daemon.get(`/1.0/containers/${name}/snapshots`)).toEqual([]);
  });
});
