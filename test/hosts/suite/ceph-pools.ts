// Pools on a real Ceph cluster: refused and shared OSD pools, clones of deleted volumes, killed programs and daemons, lost state. Uses the
// kernel's RBD in a booted machine; here qemu-storage-daemon and loop devices replace `rbd map`.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PoolSpec, VolumeRef, VolumeSource } from '../../../server/drivers/storage/driver.ts';
import { codeOf } from '../../conformance/storage-world.ts';
import { unmountBelow } from '../../support/hosts/mounts.ts';
import { openCephFixture, type CephFixture } from '../../support/drivers/storage-ceph.ts';
import { until } from '../../support/until.ts';

const never = new AbortController().signal;
const custom = (name: string): VolumeRef => ({ type: 'custom', name });

function attempted(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

export function cephPools(): void {
  describe('pools of ceph', () => {
    let fixture: CephFixture;
    let pool: PoolSpec;
    beforeAll(async () => {
      fixture = await openCephFixture({});
      pool = await filled({});
      await fixture.storage.createPool(pool, never);
    });
    afterAll(() => fixture.close());

    async function filled(config: Readonly<Record<string, string>>): Promise<PoolSpec> {
      const spec = fixture.newPool();
      const asked = { ...spec, config: { ...spec.config, ...config } };
      return { ...asked, config: await fixture.storage.fillConfig(asked) };
    }
    const make = (volume: VolumeRef, from?: VolumeRef): Promise<void> =>
      fixture.storage.createVolume(
        pool,
        volume,
        from === undefined ? { kind: 'empty' } : { kind: 'copy', from },
        () => {},
        never,
      );
    const fileOf = (volume: VolumeRef): string => join(fixture.storage.volumePath(pool, volume), 'file');
    const images = (): readonly string[] =>
      fixture.cluster
        .run('rbd', 'ls', pool.name)
        .split('\n')
        .filter((each) => each !== '');

    test('a cluster that is not known, a user without a keyring and an OSD pool that is not there are refused by their keys', async () => {
      for (const [key, value] of [
        ['ceph.cluster_name', 'no-such-cluster'],
        ['ceph.user.name', 'nobody'],
        ['source', 'no-such-pool'],
        ['ceph.osd.data_pool_name', 'no-such-pool'],
      ] as const) {
        const refused: unknown = await filled({ [key]: value }).catch((error: unknown) => error);
        expect(refused, key).toMatchObject({ code: 'Invalid' });
        expect(String(refused)).toMatch(key === 'ceph.user.name' ? /client\.nobody/ : new RegExp(`config\\.${key}`));
      }
    });

    test('an OSD pool that holds anything is refused, and with ceph.osd.force_reuse shared: only what the pool made goes with it', async () => {
      fixture.cluster.run('ceph', 'osd', 'pool', 'create', 'theirs', '4', '4');
      fixture.cluster.run('rbd', 'create', 'theirs/disk', '--size', '8M');
      const refused = await filled({ source: 'theirs' });
      expect(refused.config['volatile.pool.pristine']).toBe('false');
      expect(await codeOf(fixture.storage.createPool(refused, never))).toBe('InUse');
      const shared = await filled({ source: 'theirs', 'ceph.osd.force_reuse': 'true' });
      await fixture.storage.createPool(shared, never);
      expect(await codeOf(fixture.other('elsewhere').createPool({ ...refused }, never))).toBe('InUse');
      await fixture.storage.deletePool(shared);
      expect(fixture.cluster.run('rbd', 'ls', 'theirs')).toBe('disk');
      expect(fixture.cluster.run('rados', '-p', 'theirs', 'ls')).not.toMatch(/^gantry$/m);
    });

    test('a deleted volume with copies waits, without what it alone held, and goes with the last of them', async () => {
      await make(custom('origin'));
      await writeFile(fileOf(custom('origin')), 'one');
      await make(custom('copy'), custom('origin'));
      await fixture.storage.deleteVolume(pool, custom('origin'));
      expect(images().filter((name) => name.startsWith('deleted:'))).toHaveLength(1);
      expect(await readFile(fileOf(custom('copy')), 'utf8')).toBe('one');
      await fixture.storage.deleteVolume(pool, custom('copy'));
      expect(images()).toEqual(['records']);
    });

    test('an OSD pool goes before the cluster has trimmed the snapshots of its images, and stays while others have an image in it', async () => {
      const { run } = fixture.cluster;
      run('ceph', 'osd', 'set', 'nosnaptrim');
      try {
        for (const others of ['', 'disk']) {
          const short = await filled({ 'ceph.osd.pg_num': '4' });
          await fixture.storage.createPool(short, never);
          run('rbd', 'create', `${short.name}/image`, '--size', '8M', '--image-feature', 'layering');
          const write = (): string =>
            run('rbd', 'bench', '--io-type', 'write', '--io-total', '4M', `${short.name}/image`);
          write();
          run('rbd', 'snap', 'create', '--no-progress', `${short.name}/image@one`);
          write();
          const [prefix = ''] = /rbd_data\.\w+/.exec(run('rbd', 'info', `${short.name}/image`)) ?? [];
          run('rbd', 'snap', 'rm', '--no-progress', `${short.name}/image@one`);
          run('rbd', 'rm', '--no-progress', `${short.name}/image`);
          expect(run('rados', '-p', short.name, 'ls')).toContain(`${prefix}.`);
          if (others !== '') run('rbd', 'create', `${short.name}/${others}`, '--size', '8M');
          await fixture.storage.deletePool(short);
          expect(run('ceph', 'osd', 'pool', 'ls').split('\n').includes(short.name)).toBe(others !== '');
        }
      } finally {
        run('ceph', 'osd', 'unset', 'nosnaptrim');
      }
    });

    test('a creation that is cut short leaves no OSD pool once it is undone, and it can be repeated', async () => {
      const short = await filled({ 'ceph.osd.pg_num': '4' });
      const hunted = `[c]eph --cluster ${fixture.cluster.name} --id admin osd pool application enable `;
      const hunter = spawn('sh', ['-c', 'until pid=$(pgrep -n -f "$1"); do :; done; kill -9 "$pid"', 'sh', hunted]);
      const over = once(hunter, 'exit');
      const code = await codeOf(fixture.storage.createPool(short, never));
      // One that has found nothing would look for ever.
      if (code !== 'Failed') hunter.kill();
      await over;
      expect(code).toBe('Failed');
      await fixture.storage.deletePool(short);
      expect(fixture.cluster.run('ceph', 'osd', 'pool', 'ls').split('\n')).not.toContain(short.name);
      await fixture.storage.createPool(short, never);
      await fixture.storage.deletePool(short);
    });

    test('a pool serves others while a large image is removed, and what a killed removal leaves goes, unless others made it', async () => {
      const rbd = (...args: readonly string[]): string => fixture.cluster.run('rbd', ...args);
      await make(custom('other'));
      for (const name of ['custom:huge', 'foreign']) {
        rbd('create', `${pool.name}/${name}`, '--size', '100G', '--image-feature', 'layering');
        const removal = spawn('rbd', ['--cluster', fixture.cluster.name, 'rm', `${pool.name}/${name}`], {
          stdio: 'ignore',
        });
        const over = once(removal, 'exit');
        await until(() => !fixture.cluster.run('rados', '-p', pool.name, 'ls').includes(`rbd_id.${name}`));
        removal.kill('SIGSTOP');
        expect((await fixture.storage.listVolumes(pool)).map((each) => each.name)).toContain('other');
        await make(custom('meanwhile'), custom('other'));
        await fixture.storage.deleteVolume(pool, custom('meanwhile'));
        removal.kill('SIGKILL');
        await over;
      }
      expect(images()).toContain('foreign');
      // The cluster forgets a killed client after 30 s, which may be over by now.
      await until(async () => {
        await make(custom('later'));
        await fixture.storage.deleteVolume(pool, custom('later'));
        return !images().includes('custom:huge');
      });
      expect(images()).toContain('foreign');
      await until(() => attempted(() => rbd('rm', '--no-progress', `${pool.name}/foreign`)));
      await fixture.storage.deleteVolume(pool, custom('other'));
      expect(images()).toEqual(['records']);
    });

    test('copies of copies stay within what the kernel can map', async () => {
      await make(custom('v'));
      await writeFile(fileOf(custom('v')), 'one');
      await make(custom('c0'), custom('v'));
      const rbd = (...args: readonly string[]): string => fixture.cluster.run('rbd', ...args);
      for (let each = 1; each <= 12; each += 1) {
        const snapshot = `${pool.name}/custom:c${each - 1}@s`;
        rbd('snap', 'create', '--no-progress', snapshot);
        rbd('snap', 'protect', snapshot);
        rbd('clone', snapshot, `${pool.name}/custom:c${each}`);
      }
      await make(custom('copy'), custom('c12'));
      const parentOf = (name: string): unknown =>
        (JSON.parse(rbd('info', '--format', 'json', `${pool.name}/custom:${name}`)) as { parent?: unknown }).parent;
      expect([parentOf('copy'), parentOf('c12')]).toEqual([undefined, expect.anything()]);
      expect(await readFile(fileOf(custom('copy')), 'utf8')).toBe('one');
      await fixture.storage.deleteVolume(pool, custom('copy'));
      for (let each = 12; each >= 1; each -= 1) {
        await fixture.storage.deleteVolume(pool, custom(`c${each}`));
        rbd('snap', 'unprotect', `${pool.name}/custom:c${each - 1}@s`);
        rbd('snap', 'rm', '--no-progress', `${pool.name}/custom:c${each - 1}@s`);
      }
      for (const name of ['c0', 'v']) await fixture.storage.deleteVolume(pool, custom(name));
      expect(images()).toEqual(['records']);
    }, 400_000);

    if (!existsSync('/sys/bus/rbd'))
      test('a pool that another host uses is not mounted', async () => {
        const other = fixture.other('elsewhere', 'another host');
        await expect(other.mountPool(pool)).rejects.toThrow(/is in use at another host/);
        expect(existsSync(fixture.storage.recordsPath(pool))).toBe(true);
      }, 200_000);

    test('a daemon that was killed while it read a snapshot leaves nothing mapped after the next start', async () => {
      await make(custom('v'));
      await writeFile(fileOf(custom('v')), 'kept');
      const snapshot = { volume: custom('v'), snapshot: 's' };
      await fixture.storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
      const path = fixture.storage.snapshotPath(pool, snapshot);
      void fixture.storage.withFiles?.(path, () => new Promise(() => {}));
      await until(() => existsSync(join(path, 'file')), 60_000);
      const next = fixture.other('state');
      await next.mountPool(pool);
      const mapped = (await fixture.devices.list()).map(({ image }) => image);
      // The machine may have containers in other pools.
      const own = mapped.filter((image) => image.startsWith(`${pool.name}/`)).toSorted();
      expect(own).toEqual(['custom:v', 'records'].map((image) => `${pool.name}/${image}`));
      expect(await readFile(fileOf(custom('v')), 'utf8')).toBe('kept');
    });

    test('a kill of rbd in the middle fails the change, and after the next mount nothing half made is left', async () => {
      await make(custom('kept'));
      await writeFile(fileOf(custom('kept')), 'kept');
      const before = images().toSorted();
      const volumes = (await fixture.storage.listVolumes(pool)).map(({ name }) => name);
      for (const word of ['create', 'snap create', 'clone', 'rename', 'rm', 'snap rm']) {
        for (const delay of ['0', '0.02', '0.1']) {
          // A program, or the script that stands in for it in a booted machine.
          const of = `^(/bin/bash [^ ]*/)?rbd --cluster ${fixture.cluster.name} --id admin ${word} `;
          const hunt = 'until pid=$(pgrep -n -f "$1"); do :; done; sleep "$2"; kill -9 "$pid"';
          const hunter = spawn('sh', ['-c', hunt, 'sh', of, delay]);
          const changes = [
            make(custom('k')),
            ...[custom('k2'), custom('k3')].map(async (each) => make(each, custom('kept'))),
            fixture.storage.deleteVolume(pool, custom('k4')),
          ];
          const codes = await Promise.all(changes.map(codeOf));
          for (const name of ['k', 'k2', 'k3'])
            codes.push(await codeOf(fixture.storage.deleteVolume(pool, custom(name))));
          hunter.kill();
          for (const code of codes) expect(['none', 'Failed', 'NotFound', 'InUse'], `${word} ${delay}`).toContain(code);
          // The cluster takes a program that was killed for one that uses its image, for half a minute.
          await until(async () => (await codeOf(fixture.storage.mountPool(pool))) === 'none', 120_000);
          for (const { name } of await fixture.storage.listVolumes(pool))
            if (!volumes.includes(name)) await fixture.storage.deleteVolume(pool, custom(name));
          // A deleted image that such a program had open goes with a later mount.
          await until(async () => {
            const code = await codeOf(fixture.storage.mountPool(pool));
            return code === 'none' && images().length <= before.length;
          }, 120_000);
          expect(images().toSorted(), `${word} ${delay}`).toEqual(before);
        }
      }
      expect(await readFile(fileOf(custom('kept')), 'utf8')).toBe('kept');
      await fixture.storage.deleteVolume(pool, custom('kept'));
    }, 1_200_000);

    test('the data of images is in an erasure coded pool, where the pool names one', async () => {
      const { run } = fixture.cluster;
      run('ceph', 'osd', 'erasure-code-profile', 'set', 'coded', 'k=2', 'm=1', 'crush-failure-domain=osd');
      run('ceph', 'osd', 'pool', 'create', 'coded', '4', '4', 'erasure', 'coded');
      run('ceph', 'osd', 'pool', 'set', 'coded', 'allow_ec_overwrites', 'true');
      const coded = await filled({ 'ceph.osd.data_pool_name': 'coded' });
      await fixture.storage.createPool(coded, never);
      const source: VolumeSource = { kind: 'empty' };
      await fixture.storage.createVolume(coded, custom('v'), source, () => {}, never);
      const file = join(fixture.storage.volumePath(coded, custom('v')), 'file');
      await writeFile(file, randomBytes(4 * 1_048_576));
      execFileSync('sync', ['-f', file]);
      expect(run('rados', '-p', 'coded', 'ls')).toMatch(/rbd_data/);
      expect(run('rados', '-p', coded.name, 'ls')).not.toMatch(/rbd_data/);
      await fixture.storage.deleteVolume(coded, custom('v'));
      await fixture.storage.deletePool(coded);
      expect(run('rados', '-p', 'coded', 'ls')).not.toMatch(/rbd_data/);
    }, 600_000);

    test('a daemon with a new state directory finds the pool, its records and its volumes', async () => {
      await writeFile(join(fixture.storage.recordsPath(pool), 'record'), 'kept');
      unmountBelow(join(fixture.base, 'state'));
      const next = fixture.other('elsewhere');
      const asked = { ...pool, config: { 'ceph.cluster_name': fixture.cluster.name, source: pool.name } };
      const found = { ...asked, config: { ...asked.config, ...(await next.findPool(asked)) } };
      await next.mountPool(found);
      expect(await next.listVolumes(found)).toEqual([custom('v')]);
      expect(await next.listSnapshots(found, custom('v'))).toEqual(['s']);
      expect(await readFile(join(next.volumePath(found, custom('v')), 'file'), 'utf8')).toBe('kept');
      expect(await readFile(join(next.recordsPath(found), 'record'), 'utf8')).toBe('kept');
    });
  });
}
