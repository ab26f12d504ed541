// A tenant who may write in an allowed host directory replaces the source of a disk with a link out of it, as fast as the kernel allows,
// while his container starts and while the disk is plugged in. On real containers.
import { lstatSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaveNothing, makeSeeded, realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { flip, flipperMissing } from '../../support/hostile/flipper.ts';
import { uploadBusybox } from '../../support/images/busybox.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = (await realRuntimeMissing()) ?? flipperMissing();
if (missing !== undefined) console.log(`skipped: links exchanged before a mount: ${missing}`);

/** The results of one race. */
interface Seen {
  /** Content of the file as seen in the container. */
  readonly words: string[];
  readonly refusals: string[];
}

const atMount = (seen: Seen): number => seen.refusals.filter((text) => text.includes('leads out of')).length;
/** Enough rounds on both sides to reveal a hole. */
const isEnough = (seen: Seen): boolean => seen.words.length >= 8 && atMount(seen) >= 4;

describe.skipIf(missing !== undefined)(
  'the source of a disk that becomes a link out of what the project may show',
  () => {
    let daemon: TestDaemon;
    const base = tempFolder('gantry-links-');
    const team = (): string => join(base, 'team');

    beforeAll(async () => {
      for (const dir of ['team/data', 'outside']) {
        mkdirSync(join(base, dir), { recursive: true });
        writeFileSync(join(base, dir, 'word'), dir);
      }
      symlinkSync('../outside', join(team(), 'link'));
      daemon = await makeSeeded({ runtime: 'lxc' });
      await uploadBusybox(daemon, { busybox: { dhcp: false } });
      await makeProject(daemon, 'tenant', {
        'features.images': 'false',
        restricted: 'true',
        'restricted.containers.privilege': 'allow',
        'restricted.devices.disk': 'allow',
        'restricted.devices.disk.paths': team(),
      });
    });
    afterAll(() => leaveNothing(daemon));

    const container = (name: string): string => `/1.0/containers/${name}?project=tenant`;
    const disk = () => ({ type: 'disk', path: '/mnt', source: join(team(), 'data') });
    const make = (name: string, privileged: boolean, devices: object) =>
      daemon.ok('POST', '/1.0/containers?project=tenant', {
        name,
        source: { type: 'image', alias: 'busybox' },
        config: { 'security.privileged': String(privileged) },
        devices,
      });
    const turn = (name: string, action: 'start' | 'stop') =>
      daemon.run('PUT', `/1.0/containers/${name}/state?project=tenant`, { action, force: action === 'stop' });
    const wordIn = async (name: string): Promise<string> => {
      const { pid } = await daemon.get(`/1.0/containers/${name}/state?project=tenant`);
      return readFileSync(`/proc/${pid}/root/mnt/word`, 'utf8');
    };
    /** Runs at most this many rounds while the two entries are exchanged. */
    async function race(rounds: number, round: (seen: Seen) => Promise<void>): Promise<Seen> {
      const seen: Seen = { words: [], refusals: [] };
      const flipper = await flip(join(team(), 'data'), join(team(), 'link'));
      try {
        for (let count = 0; count < rounds && !isEnough(seen); count++) await round(seen);
      } finally {
        await flipper.stop();
        putBack();
      }
      return seen;
    }
    /** An odd number of exchanges leaves the link where the directory was. */
    const putBack = (): void => {
      const [data, link, free] = ['data', 'link', 'free'].map((name) => join(team(), name)) as [string, string, string];
      if (lstatSync(data).isDirectory()) return;
      renameSync(data, free);
      renameSync(link, data);
      renameSync(free, link);
    };
    const proven = (seen: Seen): void => {
      expect(new Set(seen.words)).toEqual(new Set(['team/data']));
      expect(atMount(seen)).toBeGreaterThan(0);
      for (const text of seen.refusals) expect(text).toMatch(/leads out of|devices\.d\.source|does not exist/);
    };

    test.each([
      ['unprivileged', false],
      ['privileged', true],
    ])('is never shown by a container that starts (%s)', async (name, privileged) => {
      await make(name, privileged, { d: disk() });
      const seen = await race(60, async ({ words, refusals }) => {
        const { status, err } = await turn(name, 'start');
        if (status !== 'Success') {
          refusals.push(err ?? '');
          return;
        }
        words.push(await wordIn(name));
        await turn(name, 'stop');
      });
      proven(seen);
      await daemon.ok('DELETE', container(name));
    });

    test('a link out of the directory is never plugged into a running container', async () => {
      await make('plugged', false, {});
      await turn('plugged', 'start');
      const seen = await race(300, async ({ words, refusals }) => {
        const { status, bytes } = await daemon.call('PATCH', container('plugged'), { devices: { d: disk() } });
        if (status !== 200) {
          refusals.push(bytes.toString());
          return;
        }
        words.push(await wordIn('plugged'));
        await daemon.call('PUT', container('plugged'), { profiles: ['default'], devices: {} });
      });
      proven(seen);
      await turn('plugged', 'stop');
      await daemon.ok('DELETE', container('plugged'));
    });
  },
);
