// `gantry snapshot` against the real daemon, on simulated and on real containers: creation, restore, and error messages.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseMoment } from '../../../../reconciler/cli/verbs/containers/snapshot.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import {
  makeSeeded,
  realRuntimeMissing,
  setState,
  statusOf,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../../support/images/busybox.ts';

const real = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: gantry snapshot: ${noImage}`);

describe.each(['sim', 'lxc'] as const)('gantry snapshot on %s', (runtime) => {
  const skipped = noImage !== undefined || (runtime === 'lxc' && real !== undefined);
  let daemon: TestDaemon;
  const snapshot = (...args: readonly string[]): Promise<CliRun> =>
    cli(['snapshot', ...args], { env: { GANTRY_HOST: `unix://${daemon.socketPath}` } });
  const ok = async (...args: readonly string[]): Promise<string> => {
    const ran = await snapshot(...args);
    expect(ran.code, ran.stderr).toBe(0);
    return ran.stdout;
  };
  const refused = async (code: number, ...args: readonly string[]): Promise<string> => {
    const ran = await snapshot(...args);
    expect(ran.code, ran.stdout).toBe(code);
    return ran.stderr;
  };

  beforeAll(async () => {
    if (skipped) return;
    daemon = await makeSeeded({ runtime });
    const image = await buildBusyboxImage(join(daemon.dir, 'built'));
    const uploaded = await daemon.ok('POST', '/1.0/images', readFileSync(image.metadataPath), {
      'content-type': 'application/octet-stream',
    });
    const { fingerprint } = uploaded.metadata as { fingerprint: string };
    await daemon.ok('POST', '/1.0/containers', { name: 'web', source: { type: 'image', fingerprint } });
  });
  afterAll(async () => {
    if (!skipped) await daemon.cleanUp();
  });
  const page = (): string => join(daemon.dir, 'storage-pools/default/containers/web/rootfs/srv/page');

  test.skipIf(skipped)('A snapshot is taken, restored after a change, renamed and deleted', async () => {
    writeFileSync(page(), 'first');
    expect(await ok('create', 'web/before', '--description', 'the first page', '--expires', '2w 1d')).toBe(
      'web/before\n',
    );
    writeFileSync(page(), 'second');
    const listed = await ok('list', 'web');
    expect(listed).toMatch(/^NAME +TAKEN +EXPIRES +STATEFUL +DESCRIPTION$/m);
    expect(listed).toMatch(/^before +\d{4}-\S+Z +\d{4}-\S+Z +no +the first page$/m);
    await ok('restore', 'web/before');
    expect(readFileSync(page(), 'utf8')).toBe('first');
    expect(await ok('rename', 'web/before', 'web/kept')).toBe('web/kept\n');
    expect(await ok('show', 'web/kept')).toMatch(/^---\nname: (web\/)?kept$/m);
    const { snapshots } = { snapshots: await daemon.get('/1.0/containers/web/snapshots') };
    expect(snapshots).toEqual(['/1.0/containers/web/snapshots/kept']);
    await ok('delete', 'web/kept');
    expect(await daemon.get('/1.0/containers/web/snapshots')).toEqual([]);
  });

  test.skipIf(skipped)('A snapshot without a name gets one, which the command prints', async () => {
    expect(await ok('create', 'web')).toBe('web/snap0\n');
    expect(JSON.parse(await ok('create', 'web', '--json'))).toEqual({ container: 'web', snapshot: 'snap1' });
    const lines = (await ok('list', 'web', '--json')).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(['snap0', 'snap1']);
    await ok('delete', 'web/snap0', 'web/snap1');
    expect(await ok('list', 'web')).toMatch(/^NAME.*\n$/);
  });

  test.skipIf(skipped)('A running container is restored and keeps running', async () => {
    await ok('create', 'web/stopped');
    expect((await setState(daemon, 'web', 'start')).status).toBe('Success');
    await ok('restore', 'web/stopped');
    expect(await statusOf(daemon, 'web')).toBe('Running');
    expect((await setState(daemon, 'web', 'stop', { force: true })).status).toBe('Success');
    await ok('delete', 'web/stopped');
  });

  test.skipIf(skipped)('Messages name a missing, an existing and a wrongly written snapshot', async () => {
    await ok('create', 'web/one');
    expect(await refused(1, 'create', 'web/one')).toContain('web/one');
    expect(await refused(1, 'create', 'nobody')).toContain('container/nobody does not exist: gantry list');
    expect(await refused(1, 'list', 'nobody')).toContain('container/nobody does not exist: gantry list');
    expect(await refused(1, 'delete', 'web/two')).toContain('Snapshot two of container web not found');
    expect(await refused(1, 'delete', 'web/one', 'web/two')).toContain('Snapshot two of container web not found');
    await ok('show', 'web/one');
    expect(await refused(1, 'restore', 'web/two')).toContain('two');
    expect(await refused(1, 'create', 'web/three', '--stateful')).toContain('running container');
    expect(await refused(64, 'delete', 'web')).toContain('is not NAME/SNAPSHOT');
    expect(await refused(64, 'rename', 'web/one', 'db/other')).toContain('is not the name of a snapshot of web');
    expect(await refused(64, 'create', 'web/four', '--expires', 'soon')).toContain('1w 2d');
    expect(await refused(64, 'create', 'web/four', '--expires', '2001-01-01T00:00:00Z')).toContain('is in the past');
    await ok('delete', 'web/one');
  });
});

test('A moment is counted from now by the calendar, or used as it is', () => {
  const now = Date.parse('2030-01-31T10:00:00Z');
  expect(parseMoment('1w 2H', now)).toBe('2030-02-07T12:00:00.000Z');
  expect(parseMoment('2031-05-06T07:08+02:00', now)).toBe('2031-05-06T05:08:00.000Z');
  for (const wrong of ['', '1x', '5', '2031-13-01T00:00:00Z', 'tomorrow']) {
    expect(() => parseMoment(wrong, now), wrong).toThrow(/--expires/);
  }
});
