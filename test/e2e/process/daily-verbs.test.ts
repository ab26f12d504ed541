// The verbs of daily work on a real container: what they change is seen by its processes. Their words are tested on the simulation.
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { hostRemains, realRuntimeMissing, seed, withDaemon } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: daily verbs on real containers: ${missing}`);

test.skipIf(missing !== undefined)('set, edit, pause, top, logs and restart reach the processes', async () => {
  const work = tempFolder('gdv-');
  const built = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: false } });
  let dir = 'none';
  await withDaemon({ runtime: 'lxc' }, async (daemon) => {
    dir = daemon.dir;
    await seed(daemon);
    await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
    const gantry = async (words: readonly string[], setting: CliSetting = {}): Promise<CliRun> => {
      const ran = await cli(words, { ...setting, env: { GANTRY_SOCKET: daemon.socketPath, ...setting.env } });
      expect([words.join(' '), ran.code, ran.stderr]).toEqual([words.join(' '), 0, ran.stderr]);
      return ran;
    };
    const inside = async (script: string): Promise<string> =>
      (await gantry(['exec', 'day', '-T', 'sh', '-c', script])).stdout;

    await gantry(['launch', 'bb', 'day']);
    await gantry(['set', 'day', 'environment.GREETING=hello']);
    expect(await inside('echo $GREETING')).toBe('hello\n');
    await writeFile(join(work, 'editor.sh'), 'sed -i s/hello/goodbye/ "$1"\n');
    await gantry(['edit', 'day'], { typed: '', env: { EDITOR: `sh ${join(work, 'editor.sh')}` } });
    expect(await inside('echo $GREETING')).toBe('goodbye\n');

    await inside('(while :; do echo x >>/root/ticks; sleep 0.02; done) >/dev/null 2>&1 &');
    const ticks = async (): Promise<number> =>
      (await stat(join(dir, 'storage-pools/default/containers/day/rootfs/root/ticks'))).size;
    const goesOn = async (): Promise<void> => {
      const before = await ticks();
      await until(async () => (await ticks()) > before);
    };
    await until(() => ticks().then(Boolean, () => false));
    await gantry(['pause', 'day']);
    const frozen = await ticks();
    await sleep(300);
    expect(await ticks()).toBe(frozen);
    await gantry(['start', 'day']);
    await goesOn();

    const [, row = ''] = (await gantry(['top', '--once'])).stdout.split('\n');
    expect(row).toMatch(/^day\s.*[1-9]/);
    expect((await gantry(['info', 'day'])).stdout).toMatch(/Running/i);
    await gantry(['restart', 'day', '--force']);
    const stopped = await ticks();
    await sleep(100);
    expect(await ticks()).toBe(stopped);
    await gantry(['logs', 'day']);
    await gantry(['stop', 'day', '--force']);
    await gantry(['delete', 'day']);
    expect((await gantry(['list'])).stdout).not.toContain('day');
  });
  expect(hostRemains(dir)).toEqual([]);
});
