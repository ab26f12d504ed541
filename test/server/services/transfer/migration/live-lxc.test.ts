// Live migration of real containers by a CRIU that works on this kernel, which GANTRY_TEST_CRIU names.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLxcRuntime } from '../../../../../server/drivers/runtime/lxc/lxc.ts';
import { silentLog } from '../../../../../server/lib/log.ts';
import { moveContainer } from '../../../../../server/client/index.ts';
import { createContainer, realRuntimeMissing, setState, statusOf } from '../../../../support/daemons/daemon.ts';
import { twoDaemons, volumeDir, type Side, type TwoDaemons } from '../../../../support/daemons/two-daemons.ts';
import { buildBusyboxImage } from '../../../../support/images/busybox.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';
import { until } from '../../../../support/until.ts';

const criu = process.env['GANTRY_TEST_CRIU'];
const missing =
  criu === undefined ? 'GANTRY_TEST_CRIU does not name a criu that works on this kernel' : await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: live migration of real containers: ${missing}`);

const counting = '(n=0; while true; do n=$((n+1)); echo $n >/count; sleep 0.1; done) </dev/null >/dev/null 2>&1 &';

describe.skipIf(missing !== undefined)('live migration of real containers', () => {
  let two: TwoDaemons;
  beforeAll(async () => {
    const work = tempFolder('gtylive-');
    const change = (rootfs: string): void =>
      writeFileSync(join(rootfs, 'etc/rc.local'), `#!/bin/sh\n${counting}\n`, { mode: 0o755 });
    const image = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: false }, change });
    two = await twoDaemons({
      runtime: 'lxc',
      more: (dir) => ({
        adapt: async (host) => {
          await host.runtime.close();
          const probeDir = join(dir, 'storage-pools');
          const programs = { criu: criu ?? '' };
          const runtime = await openLxcRuntime({ dir: join(dir, 'runtime'), log: silentLog, probeDir, programs });
          return { ...host, runtime };
        },
      }),
    });
    await two.a.daemon.ok('POST', '/1.0/images', readFileSync(image.metadataPath), {
      'x-svc-aliases': 'alias=busybox',
    });
  });
  afterAll(() => two?.cleanUp());

  const countOf = (side: Side, name: string): number =>
    Number(readFileSync(join(volumeDir(side, name), 'rootfs/count'), 'utf8').trim());

  test.each([
    ['at once', {}],
    ['in rounds', { 'migration.incremental.memory': 'true' }],
  ])('a process counts on at the target from where it was at the source, its memory copied %s', async (how, more) => {
    const name = `live-${how.replace(' ', '-')}`;
    const config = { 'raw.lxc': 'lxc.console.path = none', ...more };
    await createContainer(two.a.daemon, name, { source: { type: 'image', alias: 'busybox' }, config });
    expect((await setState(two.a.daemon, name, 'start')).err).toBe('');
    const started = join(volumeDir(two.a, name), 'rootfs/count');
    await until(() => countIn(started) > 20);
    const before = countIn(started);
    await moveContainer({ client: two.a.remote, name }, { client: two.b.remote, name }, { mode: 'pull' });
    expect((await two.a.daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
    expect(await statusOf(two.b.daemon, name)).toBe('Running');
    const after = countOf(two.b, name);
    // One that had begun again would be at a smaller number.
    expect(after).toBeGreaterThanOrEqual(before);
    await until(() => countOf(two.b, name) > after + 5);
    expect((await setState(two.b.daemon, name, 'stop', { force: true })).err).toBe('');
  });
});

function countIn(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').trim());
  } catch {
    return 0;
  }
}
