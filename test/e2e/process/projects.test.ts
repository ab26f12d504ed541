// The stock client `lxc` works in projects, and containers of one name in two projects run together, on every runtime.
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { hostRemains, makeDaemon, realRuntimeMissing, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { until } from '../../support/until.ts';

const missing = { sim: busyboxMissing(), lxc: await realRuntimeMissing(), client: clientMissing('lxc') };
for (const [what, why] of Object.entries(missing)) if (why !== undefined) console.log(`skipped: ${what}: ${why}`);

/** The smallest one in force for the process, of either generation of control groups. */
function memoryLimitOf(pid: number): number {
  const limits = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, controllers = '', path = ''] = line.split(':');
      const [root, file] =
        controllers === '' ? ['/sys/fs/cgroup', 'memory.max'] : ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'];
      if (controllers !== '' && controllers !== 'memory') return [];
      const groups = path.split('/').map((_part, index, parts) => parts.slice(0, index + 1).join('/'));
      const files = groups.map((group) => `${root}${group}/${file}`).filter((each) => existsSync(each));
      return files.map((each) => Number(readFileSync(each, 'utf8')));
    });
  return Math.min(...limits.filter((limit) => Number.isFinite(limit)));
}

describe.each(['sim', 'lxc'] as const)('on %s', (runtime) => {
  describe.skipIf((missing[runtime] ?? missing.client) !== undefined)('lxc', () => {
    let daemon: TestDaemon;
    let work: string;
    let lxc: ReturnType<typeof lxcClient>;
    const bridge = 'gtyaprj0';

    beforeAll(async () => {
      work = await mkdtemp(join(await realpath(tmpdir()), 'gtyl-'));
      const socket = join(work, 'lxd', 'unix.socket');
      daemon = await makeDaemon({ runtime, lxd: { socket } });
      await daemon.call('POST', '/1.0/networks', {
        name: bridge,
        config: { 'ipv4.address': '10.213.77.1/24', 'ipv4.nat': 'false', 'ipv6.address': 'none' },
      });
      await seed(daemon, { eth0: { type: 'nic', network: bridge, name: 'eth0' } });
      lxc = lxcClient(join(work, 'lxd'), work);
      const built = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: true } });
      await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
    });
    afterAll(async () => {
      const dir = daemon?.dir;
      await daemon?.cleanUp();
      await rm(work, { recursive: true, force: true });
      expect(hostRemains(dir ?? 'none')).toEqual([]);
    });

    test('creates, lists, shows, edits, switches and deletes projects', { timeout: 60_000 }, async () => {
      await lxc('project', 'create', 'one', '-c', 'features.images=false', '-c', 'user.a=b');
      expect(await lxc('project', 'list', '-f', 'csv')).toMatch(/^one,NO,YES,YES,/m);
      expect(await lxc('project', 'show', 'one')).toMatch(/user\.a: b/);
      await lxc('project', 'set', 'one', 'user.a=c');
      expect(await lxc('project', 'get', 'one', 'user.a')).toBe('c\n');
      const edited = (await lxc('project', 'show', 'one')).replace(/^description: .*$/m, 'description: edited');
      expect((await lxc.run(['project', 'edit', 'one'], { stdin: edited })).code).toBe(0);
      expect(await lxc('project', 'show', 'one')).toMatch(/description: edited/);
      await lxc('project', 'switch', 'one');
      expect(await lxc('profile', 'list', '-f', 'csv')).toMatch(/^default,/);
      await lxc('profile', 'device', 'add', 'default', 'root', 'disk', 'path=/', 'pool=default');
      await lxc('init', 'bb', 'c1');
      expect(await lxc('list', '-f', 'csv', '-c', 'n')).toBe('c1\n');
      expect(await lxc('--project', 'default', 'list', '-f', 'csv', '-c', 'n')).toBe('');
      expect((await lxc.run(['project', 'delete', 'one'])).stderr).toMatch(/in use by the container c1/);
      await lxc('delete', 'c1');
      await lxc('project', 'switch', 'default');
      await lxc('project', 'delete', 'one');
      expect((await lxc.run(['--project', 'one', 'list'])).stderr).toMatch(/The project one was not found/);
    });

    test(
      'runs containers of one name in two projects together, over a restart and a rename of the project',
      { timeout: 180_000 },
      async () => {
        await lxc('project', 'create', 'team', '-c', 'features.images=false', '-c', 'features.profiles=false');
        const inTeam = (...words: readonly string[]) => lxc('--project', 'team', ...words);
        await lxc('launch', 'bb', 'web');
        await inTeam('launch', 'bb', 'web', '-c', 'user.where=team');
        expect(await lxc('list', '--all-projects', '-f', 'csv', '-c', 'ens')).toBe(
          'default,web,RUNNING\nteam,web,RUNNING\n',
        );
        for (const [run, text] of [
          [lxc, 'first'],
          [inTeam, 'second'],
        ] as const) {
          await writeFile(join(work, 'f'), `${text}\n`);
          await run('file', 'push', join(work, 'f'), 'web/root/f');
        }
        expect([await lxc('file', 'pull', 'web/root/f', '-'), await inTeam('file', 'pull', 'web/root/f', '-')]).toEqual(
          ['first\n', 'second\n'],
        );
        if (runtime === 'lxc') {
          for (const [run, text] of [
            [lxc, 'first'],
            [inTeam, 'second'],
          ] as const) {
            expect(await run('exec', 'web', '--', 'cat', '/root/f')).toBe(`${text}\n`);
            expect(await run('exec', 'web', '--', 'hostname')).toBe('web\n');
          }
          await until(async () => {
            const leases = (await daemon.get(`/1.0/networks/${bridge}/leases`)) as {
              hostname: string;
              address: string;
            }[];
            return (
              new Set(leases.map(({ address }) => address)).size >= 2 &&
              leases.some(({ hostname }) => hostname === 'team_web')
            );
          });
          const pids = await Promise.all(
            ['default', 'team'].map(async (one) => (await daemon.get(`/1.0/containers/web/state?project=${one}`)).pid),
          );
          expect(new Set(pids).size).toBe(2);
        }
        expect(await lxc('console', 'web', '--show-log')).toMatch(/Console log/);
        expect(await inTeam('console', 'web', '--show-log')).toMatch(/Console log/);
        await inTeam('snapshot', 'web', 's1');
        expect(await inTeam('info', 'web')).toMatch(/s1/);
        expect(await lxc('info', 'web')).not.toMatch(/s1/);
        await inTeam('stop', 'web', '-f');
        expect(await lxc('list', '--all-projects', '-f', 'csv', '-c', 'ens')).toBe(
          'default,web,RUNNING\nteam,web,STOPPED\n',
        );
        await inTeam('restore', 'web', 's1');
        await daemon.restart();
        expect(await lxc('list', '--all-projects', '-f', 'csv', '-c', 'ens')).toBe(
          'default,web,RUNNING\nteam,web,STOPPED\n',
        );
        await inTeam('config', 'set', 'web', 'boot.autostart=true');
        await daemon.restart();
        await until(async () => (await inTeam('list', '-f', 'csv', '-c', 'ns')) === 'web,RUNNING\n');
        await inTeam('stop', 'web', '-f');
        await lxc('project', 'rename', 'team', 'crew');
        const inCrew = (...words: readonly string[]) => lxc('--project', 'crew', ...words);
        await inCrew('start', 'web');
        expect(await inCrew('file', 'pull', 'web/root/f', '-')).toBe('second\n');
        if (runtime === 'lxc') {
          expect(await inCrew('exec', 'web', '--', 'cat', '/root/f')).toBe('second\n');
          expect(await lxc('exec', 'web', '--', 'cat', '/root/f')).toBe('first\n');
        }
        await inCrew('delete', '-f', 'web');
        expect(await lxc('file', 'pull', 'web/root/f', '-')).toBe('first\n');
        await lxc('delete', '-f', 'web');
        await lxc('project', 'delete', 'crew');
      },
    );

    test(
      'shows what is used of the limits of a project, and is refused beyond them',
      { timeout: 120_000 },
      async () => {
        const limits = ['limits.containers=2', 'limits.memory=128MiB', 'limits.processes=500'];
        await lxc('project', 'create', 'small', ...['features.images=false', ...limits].flatMap((one) => ['-c', one]));
        const inSmall = (...words: readonly string[]) => lxc('--project', 'small', ...words);
        await inSmall('profile', 'device', 'add', 'default', 'root', 'disk', 'path=/', 'pool=default');
        const refused = async (...words: readonly string[]): Promise<string> => {
          const { code, stderr } = await lxc.run(['--project', 'small', ...words]);
          expect(code).not.toBe(0);
          return stderr;
        };
        expect(await refused('init', 'bb', 'web')).toMatch(/limits\.memory is required: the project small limits/);
        const sized = (memory: string) => ['-c', `limits.memory=${memory}`, '-c', 'limits.processes=200'];
        await inSmall('launch', 'bb', 'web', ...sized('96MiB'));
        expect(await refused('init', 'bb', 'db', ...sized('64MiB'))).toMatch(/limits\.memory would be 160(\.00)?MiB/);
        expect(await refused('config', 'set', 'web', 'limits.memory', '1GiB')).toMatch(/at most 128(\.00)?MiB/);
        await inSmall('init', 'bb', 'db', ...sized('32MiB'));
        expect(await refused('init', 'bb', 'third', ...sized('1MiB'))).toMatch(/limits\.containers would be 3/);
        const rows = (await lxc('project', 'info', 'small', '-f', 'csv')).trim().split('\n');
        expect(rows).toEqual(
          expect.arrayContaining([
            'CONTAINERS,2,2',
            'CPU,UNLIMITED,0',
            'MEMORY,128.00MiB,128.00MiB',
            'PROCESSES,500,400',
            'DISK,UNLIMITED,0B',
          ]),
        );
        if (runtime === 'lxc') {
          const { pid } = await daemon.get('/1.0/containers/web/state?project=small');
          expect(memoryLimitOf(pid)).toBe(96 * 1024 ** 2);
        }
        await inSmall('delete', '-f', 'web', 'db');
        await lxc('project', 'delete', 'small');
      },
    );

    test('copies and moves between projects', { timeout: 120_000 }, async () => {
      const config = ['-c', 'features.images=false', '-c', 'features.profiles=false'];
      await lxc('project', 'create', 'source', ...config);
      await lxc('project', 'create', 'target', ...config);
      await lxc('--project', 'source', 'init', 'bb', 'c');
      await lxc('--project', 'source', 'snapshot', 'c', 's');
      await lxc('copy', 'c', 'copied', '--project', 'source', '--target-project', 'target');
      await lxc('move', 'c', '--project', 'source', '--target-project', 'target');
      expect(await lxc('--project', 'target', 'list', '-f', 'csv', '-c', 'nS')).toBe('c,1\ncopied,1\n');
      expect(await lxc('--project', 'source', 'list', '-f', 'csv')).toBe('');
      await lxc('--project', 'target', 'start', 'c');
      await lxc('--project', 'target', 'delete', '-f', 'c', 'copied');
      await lxc('project', 'delete', 'source');
      await lxc('project', 'delete', 'target');
    });
  });
});
