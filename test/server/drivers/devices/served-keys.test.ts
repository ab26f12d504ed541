// Properties of devices that came with LXD, over the real daemon: rules on the simulation, mounts and routes on real containers.
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freeSubnet } from '../../../support/hosts/free-resources.ts';
import {
  createContainer,
  hostRemains,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped on real containers: ${missing}`);
const subnet = freeSubnet();
const bridge = 'gtydkbr0';

describe.each([
  ['the simulation', 'sim', undefined],
  ['real containers', 'lxc', missing],
] as const)('on %s', (_what, runtime, lack) => {
  describe.skipIf(lack !== undefined)('a device', () => {
    let daemon: TestDaemon;
    let work: string;
    beforeAll(async () => {
      work = await mkdtemp(join(realpathSync(tmpdir()), 'gtyd-keys-'));
      daemon = await makeSeeded({ runtime });
      await uploadBusybox(daemon);
      const config = { 'ipv4.address': `${subnet}.1/24`, 'ipv6.address': 'fd42:ffff:218::1/64', 'ipv4.nat': 'false' };
      expect((await daemon.call('POST', '/1.0/networks', { name: bridge, config })).status).toBe(200);
      await createContainer(daemon, 'c1', { source: { type: 'image', alias: 'busybox' } });
    });
    afterAll(async () => {
      const dir = daemon?.dir;
      await daemon?.cleanUp();
      rmSync(work, { recursive: true, force: true });
      expect(hostRemains(dir ?? 'none')).toEqual([]);
    });

    const patch = (devices: object) => daemon.call('PATCH', '/1.0/containers/c1', { devices });
    const patched = async (devices: object): Promise<void> => {
      const answer = await patch(devices);
      expect([answer.status, answer.bytes.toString()]).toEqual([200, expect.anything()]);
    };
    const sh = async (script: string): Promise<string> =>
      (await execIn(daemon.host.runtime, 'c1', ['sh', '-c', script])).stdout;
    const state = async (action: string) => (await setState(daemon, 'c1', action, { force: true })).err;
    /** Targets of the device that the container has. */
    const mounted = async (device: string, target: string): Promise<boolean> =>
      runtime === 'sim'
        ? daemon.sim.runOf('c1').mounts.some((mount) => mount.device === device && mount.target === target)
        : (await sh(`grep -c " ${target} " /proc/self/mountinfo`)).trim() === '1';

    const routes = (): readonly string[] => {
      if (runtime === 'sim') return daemon.sim.runOf('c1').nics.flatMap((nic) => nic.routes ?? []);
      const show = (family: string): string[] =>
        execFileSync('ip', [family, 'route', 'show', 'dev', bridge, 'proto', '73'], { encoding: 'utf8' })
          .split('\n')
          .flatMap((line) => /^[0-9a-f:./]+/.exec(line)?.[0] ?? [])
          .toSorted();
      return [...show('-4'), ...show('-6')];
    };

    test('disk required: false starts without a missing source, which a later change plugs in', async () => {
      const source = join(work, 'share');
      const disk = { type: 'disk', source, path: '/mnt/share' };
      mkdirSync(source);
      await patched({ share: disk });
      rmdirSync(source);
      expect(await state('start')).toMatch(/share.*does not exist on the host/);
      await patched({ share: { ...disk, required: 'false' } });
      expect(await state('start')).toBe('');
      expect(await mounted('share', '/mnt/share')).toBe(false);
      expect((await patch({ share: disk })).status).toBe(404);
      mkdirSync(source);
      await patched({ share: { ...disk, required: 'true' } });
      expect(await mounted('share', '/mnt/share')).toBe(true);
      // Now only the rule changes: the mount stays as it is.
      await patched({ share: { ...disk, required: 'false' } });
      expect(await mounted('share', '/mnt/share')).toBe(true);
      await patched({ share: { type: 'none' } });
      expect(await mounted('share', '/mnt/share')).toBe(false);
      expect(await state('stop')).toBe('');
    });

    /** Options of the mount at `target` in the container, as the kernel lists them. */
    const optionsOf = async (target: string): Promise<readonly string[]> =>
      runtime === 'sim'
        ? daemon.sim.runOf('c1').mounts.flatMap((mount) => (mount.target === target ? (mount.flags ?? []) : []))
        : ((await sh(`grep " ${target} " /proc/self/mountinfo`)).split(' ')[5] ?? '').split(',');

    test.each([{}, { 'security.privileged': 'true' }])(
      'disk raw.mount.options hold from the start and plugged in, with config %j',
      async (config) => {
        const source = join(work, 'options');
        mkdirSync(source, { recursive: true });
        const disk = { type: 'disk', source, path: '/mnt/options' };
        const strict = { ...disk, 'raw.mount.options': 'noexec, nosuid,nodev,noatime' };
        const wanted = ['noexec', 'nosuid', 'nodev', 'noatime'];
        expect((await daemon.call('PATCH', '/1.0/containers/c1', { config })).status).toBe(200);
        await patched({ options: strict });
        expect(await state('start')).toBe('');
        expect(await optionsOf('/mnt/options')).toEqual(expect.arrayContaining(wanted));
        await patched({ options: disk });
        expect(await optionsOf('/mnt/options')).not.toContain('noexec');
        await patched({ options: { ...strict, 'raw.mount.options': 'ro,noexec' } });
        expect(await optionsOf('/mnt/options')).toEqual(expect.arrayContaining(['ro', 'noexec']));
        await patched({ options: { type: 'none' } });
        expect(await state('stop')).toBe('');
      },
    );

    test('nic ipv4.routes and ipv6.routes are routes of the host while the nic is there', async () => {
      const nic = { type: 'nic', nictype: 'bridged', parent: bridge, name: 'eth0' };
      const routed = { ...nic, 'ipv4.routes': '198.18.219.5/29, 198.18.220.0/24', 'ipv6.routes': 'fd42:ffff:219::/64' };
      const [kept, given, ipv6] = ['198.18.219.0/29', '198.18.220.0/24', 'fd42:ffff:219::/64'];
      await patched({ eth0: routed });
      expect(await state('start')).toBe('');
      const { initPid } = daemon.host.runtime.probe('c1');
      expect(routes()).toEqual([kept, given, ipv6]);
      await patched({ eth0: { ...nic, 'ipv4.routes': kept } });
      expect(routes()).toEqual([kept]);
      await patched({ eth0: nic });
      expect(routes()).toEqual([]);
      await patched({ eth0: { type: 'none' } });
      await patched({ eth0: routed });
      expect(routes()).toEqual([kept, given, ipv6]);
      expect(daemon.host.runtime.probe('c1').initPid).toBe(initPid);
      expect(await state('stop')).toBe('');
      if (runtime === 'lxc') {
        expect(routes()).toEqual([]);
        execFileSync('ip', ['route', 'add', kept, 'dev', 'lo']);
        try {
          expect(await state('start')).toContain('the host has a route to 198.18.219.0/29 by lo already');
          expect(routes()).toEqual([]);
        } finally {
          execFileSync('ip', ['route', 'del', kept, 'dev', 'lo']);
        }
      }
      await patched({ eth0: { type: 'none' } });
    });
  });
});
