// kill -9 of source or target during a migration or a refresh: the peer notices it, and the next daemon of the killed one has a record
// of every object, each of them complete.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { call, type Json } from '../../../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild, type ChildDaemon } from '../../../../support/daemons/child-process.ts';
import { loopsGone, unmountBelow } from '../../../../support/hosts/mounts.ts';
import { describeTree } from '../../../../support/daemons/two-daemons.ts';
import { until } from '../../../../support/until.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: killed migrations between btrfs pools: ${noBtrfs}`);

const bundle = bundleDaemon();

const list = (path: string): string[] => (existsSync(path) ? readdirSync(path).toSorted() : []);

class Host {
  dir = '';
  #daemon: ChildDaemon | undefined;

  get daemon(): ChildDaemon {
    if (this.#daemon === undefined) throw new Error('it does not run');
    return this.#daemon;
  }

  async start(): Promise<void> {
    this.#daemon = await startChild(bundle, this.dir, 'sim', ['--https', '127.0.0.1:0']);
  }

  async make(driver: string): Promise<void> {
    this.dir = await realpath(tempFolder('gtya-mig-'));
    await this.start();
    const config = driver === 'btrfs' ? { size: '256MiB' } : {};
    await call(this.daemon, 'POST', '/1.0/storage-pools', { name: 'p', driver, config });
    await call(this.daemon, 'PUT', '/1.0/profiles/default', {
      devices: { root: { type: 'disk', path: '/', pool: 'p' } },
    });
  }

  pool(...rest: string[]): string {
    return join(this.dir, 'storage-pools/p', ...rest);
  }

  async killed(): Promise<void> {
    await this.daemon.kill('SIGKILL');
    await this.start();
  }

  /** Every directory has its record, and no saga is in progress. */
  async expectKnown(containers: readonly string[], snapshots: readonly string[]): Promise<void> {
    const found = (await read(this.daemon, '/1.0/containers?recursion=2')) as Json[];
    expect(found.map((each) => each.name)).toEqual(containers);
    expect(list(this.pool('containers'))).toEqual(containers);
    const known = found.flatMap((each) => ((each.snapshots ?? []) as Json[]).map((one) => `${each.name}/${one.name}`));
    expect(known).toEqual(snapshots);
    const kept = list(this.pool('containers-snapshots'));
    expect(
      kept.flatMap((owner) => list(this.pool('containers-snapshots', owner)).map((name) => `${owner}/${name}`)),
    ).toEqual(snapshots);
    for (const folder of ['tmp', 'replaced']) await until(() => list(this.pool(folder)).length === 0);
  }

  async remove(): Promise<void> {
    await this.#daemon?.kill('SIGKILL').catch(() => {});
    unmountBelow(this.dir);
    rmSync(this.dir, { recursive: true, force: true });
    await loopsGone(this.dir);
  }
}

describe.each(noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'])('on pools of driver %s', (driver) => {
  const [source, target] = [new Host(), new Host()];
  beforeAll(async () => {
    await source.make(driver);
    await target.make(driver);
    await settle(source.daemon, 'POST', '/1.0/containers', { name: 'c', source: { type: 'none' } });
    mkdirSync(source.pool('containers/c/rootfs/etc'));
    writeFileSync(source.pool('containers/c/rootfs/etc/first'), randomBytes(100_000));
    await settle(source.daemon, 'POST', '/1.0/containers/c/snapshots', { name: 's' });
    writeFileSync(source.pool('containers/c/rootfs/big'), randomBytes(1_500_000));
  });
  afterAll(async () => {
    await source.remove();
    await target.remove();
  });

  const begin = async (more: object = {}): Promise<{ readonly at: Host; readonly operation: string }[]> => {
    const started = await call(source.daemon, 'POST', '/1.0/containers/c', { migration: true });
    const { environment } = await read(source.daemon, '/1.0');
    const pull = await call(target.daemon, 'POST', '/1.0/containers', {
      name: 'c',
      source: {
        type: 'migration',
        mode: 'pull',
        operation: `https://${environment.addresses[0]}${started.body.operation}`,
        certificate: environment.certificate,
        secrets: started.metadata.metadata,
        ...more,
      },
    });
    return [
      { at: source, operation: started.body.operation as string },
      { at: target, operation: pull.body.operation as string },
    ];
  };
  const ended = async (under: { readonly at: Host; readonly operation: string } | undefined): Promise<Json> =>
    read(under?.at.daemon ?? source.daemon, `${under?.operation ?? ''}/wait`);
  const limit = (rate: string) =>
    call(source.daemon, 'PATCH', '/1.0/storage-pools/p', { config: { 'rsync.bwlimit': rate } });
  /** The snapshot exists, the volume is in transfer. */
  const midway = (): Promise<void> =>
    until(
      () => list(target.pool('containers-snapshots/c')).includes('s') && list(target.pool('tmp')).length > 0,
      60_000,
    );

  test('the death of the source makes the target remove its part, and the source keeps everything', async () => {
    await limit('150kB');
    const before = describeTree(source.pool('containers/c'));
    const [, to] = await begin();
    await midway();
    // Asked for before the kill: an operation that has ended is kept for seconds, and the start of a daemon may take longer.
    const [end] = await Promise.all([ended(to), source.killed()]);
    expect(end).toMatchObject({ status: 'Failure', err: expect.stringMatching(/closed the connection|broke/) });
    await target.expectKnown([], []);
    await source.expectKnown(['c'], ['c/s']);
    expect(describeTree(source.pool('containers/c'))).toBe(before);
  });

  test('the death of the target releases the source, and leaves nothing of the copy', async () => {
    await limit('150kB');
    const before = describeTree(source.pool('containers/c'));
    const [from] = await begin();
    await midway();
    // Asked for before the kill: an operation that has ended is kept for seconds, and the start of a daemon may take longer.
    const [end] = await Promise.all([ended(from), target.killed()]);
    expect(end).toMatchObject({ status: 'Failure', err: expect.stringMatching(/closed the connection|broke/) });
    await target.expectKnown([], []);
    expect(describeTree(source.pool('containers/c'))).toBe(before);
    await limit('0');
    const [, to] = await begin();
    expect((await ended(to)).err).toBe('');
    expect(describeTree(target.pool('containers/c'))).toBe(before);
    await target.expectKnown(['c'], ['c/s']);
  });

  test('the death of the target of a refresh leaves the old copy or the complete new one', async () => {
    await settle(source.daemon, 'POST', '/1.0/containers/c/snapshots', { name: 's2' });
    const [, first] = await begin({ refresh: true });
    expect((await ended(first)).err).toBe('');
    const old = describeTree(target.pool('containers/c'));
    await settle(source.daemon, 'POST', '/1.0/containers/c/snapshots', { name: 't' });
    writeFileSync(source.pool('containers/c/rootfs/big'), randomBytes(1_500_000));
    rmSync(source.pool('containers/c/rootfs/etc'), { recursive: true });
    await limit('150kB');
    await begin({ refresh: true });
    await until(
      () => list(target.pool('containers-snapshots/c')).includes('t') && list(target.pool('tmp')).length > 0,
      60_000,
    );
    await target.killed();
    await target.expectKnown(['c'], ['c/s', 'c/s2']);
    expect(describeTree(target.pool('containers/c'))).toBe(old);
    await limit('0');
    const [, again] = await begin({ refresh: true });
    expect((await ended(again)).err).toBe('');
    expect(describeTree(target.pool('containers/c'))).toBe(describeTree(source.pool('containers/c')));
    expect(readFileSync(target.pool('containers-snapshots/c/t/rootfs/etc/first')).length).toBe(100_000);
    await target.expectKnown(['c'], ['c/s', 'c/s2', 'c/t']);
  });
});
