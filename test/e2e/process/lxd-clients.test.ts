// Unmodified clients of LXD (lxc, pylxd, Ansible) manage a container on the daemon from creation to deletion, on every runtime.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { hostRemains, makeDaemon, realRuntimeMissing, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { clientMissing, lxcClient, runProgram } from '../../support/hosts/lxd-clients.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { until } from '../../support/until.ts';

const missing = {
  sim: busyboxMissing(),
  lxc: await realRuntimeMissing(),
  client: clientMissing('lxc'),
  pylxd: clientMissing('pylxd'),
  ansible: clientMissing('ansible'),
};
for (const [client, why] of Object.entries(missing)) if (why !== undefined) console.log(`skipped: ${client}: ${why}`);

/** `lxc` copies terminal settings from its standard input, so script(1) gives it a terminal. */
const onTerminal = (command: string): readonly string[] => ['-qec', command, '/dev/null'];

describe.each(['sim', 'lxc'] as const)('on %s', (runtime) => {
  describe.skipIf(missing[runtime] !== undefined)('a stock client of LXD', () => {
    let daemon: TestDaemon;
    let work: string;
    let lxc: ReturnType<typeof lxcClient>;
    let socket: string;

    beforeAll(async () => {
      work = await mkdtemp(join(await realpath(tmpdir()), 'gtyl-'));
      socket = join(work, 'lxd', 'unix.socket');
      daemon = await makeDaemon({ runtime, lxd: { socket } });
      await seed(daemon);
      lxc = lxcClient(join(work, 'lxd'), work);
      if (missing.client === undefined) await lxc('config', 'set', `core.https_address=127.0.0.1:${await freePort()}`);
      const built = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: false } });
      await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
    });
    afterAll(async () => {
      const dir = daemon?.dir;
      await daemon?.cleanUp();
      await rm(work, { recursive: true, force: true });
      expect(hostRemains(dir ?? 'none')).toEqual([]);
    });

    const path = (name: string): string => join(work, name);
    let count = 0;
    /** Each attempt uses new containers. */
    const fresh = (): string => `c${(count += 1)}`;

    describe.skipIf(missing.client !== undefined)('lxc', () => {
      test('lxc launches, runs commands, and moves files', { timeout: 120_000 }, async () => {
        const c = fresh();
        await lxc('launch', 'bb', c, '-c', 'user.a=b');
        expect(await lxc('list', c, '-f', 'csv', '-c', 'nst')).toBe(`${c},RUNNING,CONTAINER\n`);
        expect(await lxc('list', 'status=running', 'user.a=b', '-f', 'csv', '-c', 'n')).toContain(c);
        expect(await lxc('list', 'status=stopped', '-f', 'csv', '-c', 'n')).not.toContain(c);
        expect(await lxc('info', c)).toMatch(/Status: RUNNING[^]*Memory usage/);
        expect(await lxc('exec', c, '--', 'echo', 'hello')).toBe('hello\n');
        expect((await lxc.run(['exec', c, '--', 'sh', '-c', 'exit 7'])).code).toBe(7);
        expect((await lxc.run(['exec', c, '-T', '--', 'cat'], { stdin: 'in\n' })).stdout).toBe('in\n');
        if (runtime === 'lxc') {
          const asked = ['--user', '5', '--group', '6', '--cwd', '/tmp'];
          expect(await lxc('exec', c, ...asked, '--', 'sh', '-c', 'id; pwd')).toBe('uid=5 gid=6\n/tmp\n');
          const noId = await lxc.run(['exec', c, '--user', '4000000000', '--', 'id']);
          expect([noId.code, noId.stderr]).toEqual([1, expect.stringMatching(/no id 4000000000/)]);
        }
        const typed = await runProgram('script', onTerminal(`lxc exec ${c} -t -- echo terminal`), { env: lxc.env });
        expect([typed.code, typed.stdout]).toEqual([0, expect.stringMatching(/terminal\r\n/)]);

        writeFileSync(path('f'), 'data\n');
        await lxc('file', 'push', path('f'), `${c}/root/f`, '--mode', '0640', '--uid', '5');
        expect(await lxc('file', 'pull', `${c}/root/f`, '-')).toBe('data\n');
        // lxc opens its standard input by name, which fails for a socket.
        const edit = await runProgram('sh', ['-c', `echo edited | lxc file edit ${c}/root/f`], { env: lxc.env });
        expect([edit.code, edit.stderr]).toEqual([0, '']);
        expect(await lxc('file', 'pull', `${c}/root/f`, '-')).toBe('edited\n');
        mkdirSync(path('tree/sub'), { recursive: true });
        writeFileSync(path('tree/sub/leaf'), 'leaf');
        await lxc('file', 'push', '-r', path('tree'), `${c}/root`);
        await lxc('file', 'pull', '-r', `${c}/root/tree`, path('back'));
        expect(readFileSync(path('back/tree/sub/leaf'), 'utf8')).toBe('leaf');
        await lxc('file', 'delete', `${c}/root/f`);
        expect((await lxc.run(['file', 'pull', `${c}/root/f`, '-'])).stderr).toMatch(/no such file/);

        expect(await lxc('console', c, '--show-log')).toMatch(/Console log/);
        await lxc('pause', c);
        expect(await lxc('list', c, '-f', 'csv', '-c', 's')).toBe('FROZEN\n');
        await lxc('start', c);
        await lxc('restart', c, '--force');
        await lxc('delete', c, '--force');
        expect(await lxc('list', c, '-f', 'csv')).toBe('');
      });

      test('lxc sets config and devices, and shows the errors of the daemon', { timeout: 120_000 }, async () => {
        const c = fresh();
        await lxc('init', 'bb', c);
        await lxc('config', 'set', c, 'limits.memory=64MiB', 'boot.autostart=false');
        expect(await lxc('config', 'get', c, 'limits.memory')).toBe('64MiB\n');
        await lxc('config', 'unset', c, 'limits.memory');
        await lxc('config', 'device', 'add', c, 'data', 'disk', `source=${work}`, 'path=/mnt');
        await lxc('config', 'device', 'set', c, 'data', 'readonly=true');
        expect(await lxc('config', 'show', c, '--expanded')).toMatch(/data:\n\s+path: \/mnt\n\s+readonly: "true"/);
        await lxc('config', 'device', 'remove', c, 'data');
        const edited = (await lxc('config', 'show', c)).replace('description: ""', 'description: edited');
        expect((await lxc.run(['config', 'edit', c], { stdin: edited })).code).toBe(0);
        expect(await daemon.get(`/1.0/containers/${c}`)).toMatchObject({ description: 'edited' });
        const wrong = await lxc.run(['config', 'set', c, 'limits.memory=much']);
        expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/limits\.memory/)]);
        await lxc('profile', 'create', `p-${c}`);
        await lxc('profile', 'set', `p-${c}`, 'user.p=1');
        await lxc('profile', 'add', c, `p-${c}`);
        expect(await lxc('config', 'get', c, 'user.p', '--expanded')).toBe('1\n');
        await lxc('profile', 'remove', c, `p-${c}`);
        await lxc('profile', 'delete', `p-${c}`);
        await lxc('storage', 'volume', 'create', 'default', `v-${c}`);
        await lxc('storage', 'volume', 'attach', 'default', `v-${c}`, c, '/data');
        expect((await lxc.run(['storage', 'volume', 'delete', 'default', `v-${c}`])).stderr).toMatch(/in use/);
        await lxc('storage', 'volume', 'detach', 'default', `v-${c}`, c);
        await lxc('storage', 'volume', 'snapshot', 'default', `v-${c}`);
        await lxc('storage', 'volume', 'restore', 'default', `v-${c}`, 'snap0');
        await lxc('storage', 'volume', 'delete', 'default', `v-${c}`);
        expect(await lxc('config', 'template', 'list', c)).toContain('hostname.tpl');
        expect(await lxc('config', 'metadata', 'show', c)).toContain('os: busybox');
        expect(await lxc('info', '--resources')).toMatch(/CPU[^]*Memory/);
        await lxc('delete', c);
      });

      test('Every lxc verb on volumes works, or is refused with a message', { timeout: 120_000 }, async () => {
        const c = fresh();
        const [v, pool, profile] = [`v-${c}`, `q-${c}`, `pv-${c}`];
        const volume = (...words: string[]): Promise<string> => lxc('storage', 'volume', ...words);
        const names = async (of: string): Promise<string[]> =>
          (await volume('list', of, '-f', 'csv'))
            .split('\n')
            .flatMap((line) => (line.startsWith('custom,') ? [line.split(',')[1] ?? ''] : []))
            .filter((name) => name.includes(c))
            .toSorted();
        await lxc('init', 'bb', c);
        await lxc('storage', 'create', pool, 'dir');
        await volume('create', 'default', v, 'user.a=1');
        expect(await volume('get', 'default', v, 'user.a')).toBe('1\n');
        await volume('set', 'default', v, 'user.b=2');
        await volume('unset', 'default', v, 'user.a');
        const shown = await volume('show', 'default', v);
        expect(shown).toMatch(/user\.b: "2"[^]*type: custom/);
        const stdin = shown.replace('description: ""', 'description: edited');
        expect((await lxc.run(['storage', 'volume', 'edit', 'default', v], { stdin })).stderr).toBe('');
        expect(await volume('show', 'default', v)).toContain('description: edited');

        await volume('attach', 'default', v, c, 'data', '/data');
        expect(await volume('show', 'default', v)).toContain(`/1.0/containers/${c}`);
        await volume('rename', 'default', v, `${v}-2`);
        expect(await lxc('config', 'device', 'get', c, 'data', 'source')).toBe(`${v}-2\n`);
        await volume('rename', 'default', `${v}-2`, v);
        await volume('detach', 'default', v, c);
        await lxc('profile', 'create', profile);
        await volume('attach-profile', 'default', v, profile, 'data', '/data');
        expect((await lxc.run(['storage', 'volume', 'delete', 'default', v])).stderr).toMatch(/in use by .*profiles/);
        await volume('detach-profile', 'default', v, profile);
        await lxc('profile', 'delete', profile);

        await volume('snapshot', 'default', v, 'one');
        await volume('snapshot', 'default', v);
        await volume('rename', 'default', `${v}/snap0`, `${v}/two`);
        expect(await volume('show', 'default', `${v}/two`)).toContain('name: two');
        await volume('restore', 'default', v, 'two');
        await volume('delete', 'default', `${v}/two`);
        await volume('copy', `default/${v}`, `${pool}/${v}-all`);
        await volume('copy', `default/${v}`, `${pool}/${v}-alone`, '--volume-only');
        await volume('copy', `default/${v}/one`, `default/${v}-one`);
        await volume('move', `default/${v}-one`, `${pool}/${v}-moved`);
        expect([await names('default'), await names(pool)]).toEqual([[v], [`${v}-all`, `${v}-alone`, `${v}-moved`]]);
        const snapshots = (name: string): Promise<string> =>
          lxc('query', `/1.0/storage-pools/${pool}/volumes/custom/${name}/snapshots`);
        expect([await snapshots(`${v}-all`), await snapshots(`${v}-alone`)]).toEqual([
          expect.stringContaining('/snapshots/one'),
          expect.not.stringContaining('/snapshots/'),
        ]);

        for (const [words, why] of [
          [['create', 'default', `${v}-b`, '--type=block'], /must be filesystem/],
          [['create', 'default', `${v}-b`, 'size=1GB'], /cannot be limited in size/],
          [['set', 'default', v, 'foo=bar'], /config\.foo: is not a config key/],
          [['restore', 'default', v, 'none'], /snapshot .*none was not found/],
          [['copy', `default/${v}`, `${pool}/${v}-all`], /already exists/],
          [['copy', `default/${v}`, `${pool}/${v}-all`, '--refresh'], /custom_volume_refresh/],
          [['info', 'default', v], /storage_volume_state/],
          [['export', 'default', v, path(`${v}.tgz`)], /custom_volume_backup/],
          [['import', 'default', path('image')], /custom_volume_backup/],
        ] as const) {
          const refused = await lxc.run(['storage', 'volume', ...words]);
          expect([words, refused.code, refused.stderr]).toEqual([words, 1, expect.stringMatching(why)]);
        }
        for (const name of await names(pool)) await volume('delete', pool, name);
        await volume('delete', 'default', v);
        await lxc('storage', 'delete', pool);
        await lxc('delete', c);
      });

      test('lxc takes snapshots, copies, exports, imports and publishes', { timeout: 120_000 }, async () => {
        const c = fresh();
        await lxc('init', 'bb', c);
        await lxc('snapshot', c, 'one');
        await lxc('snapshot', c, 'two');
        await lxc('rename', `${c}/two`, `${c}/three`);
        expect(await lxc('info', c)).toMatch(/one[^]*three/);
        await lxc('config', 'set', c, 'user.later=1');
        await lxc('restore', c, 'one');
        expect(await lxc('config', 'get', c, 'user.later')).toBe('\n');
        await lxc('delete', `${c}/three`);
        await lxc('copy', c, `${c}-copy`);
        // lxc sends the whole config of the original for the copy, including addresses.
        await lxc('profile', 'device', 'add', 'default', `n-${c}`, 'nic', 'nictype=p2p');
        try {
          await lxc('start', `${c}-copy`);
          await lxc('stop', `${c}-copy`, '--force');
          await lxc('snapshot', c, 'new');
          await lxc('copy', c, `${c}-copy`, '--refresh');
          expect(await lxc('info', `${c}-copy`)).toMatch(/new/);
          const address = (name: string): Promise<string> => lxc('config', 'get', name, `volatile.n-${c}.hwaddr`);
          expect(await address(`${c}-copy`)).not.toBe(await address(c));
        } finally {
          await lxc('profile', 'device', 'remove', 'default', `n-${c}`);
        }
        await lxc('copy', `${c}/one`, `${c}-of-one`);
        await lxc('rename', `${c}-copy`, `${c}-named`);
        await lxc('move', `${c}-of-one`, `${c}-moved`);
        await lxc('storage', 'create', `p-${c}`, 'dir');
        await lxc('move', `${c}-moved`, '--storage', `p-${c}`);
        expect(await lxc('config', 'device', 'get', `${c}-moved`, 'root', 'pool')).toBe(`p-${c}\n`);
        await lxc('copy', `${c}-named`, `${c}-there`, '--storage', `p-${c}`);
        await lxc('restore', `${c}-there`, 'one');
        await lxc('delete', `${c}-there`);
        await lxc('export', c, path(`${c}.tar.gz`), '--compression', 'none');
        expect(existsSync(path(`${c}.tar.gz`))).toBe(true);
        expect(await daemon.get(`/1.0/containers/${c}/backups`)).toEqual([]);
        await lxc('import', path(`${c}.tar.gz`), `${c}-back`);
        expect(await lxc('info', `${c}-back`)).toMatch(/one/);
        await lxc('publish', c, '--compression', 'none', '--alias', `i-${c}`, 'note=mine');
        expect(await lxc('image', 'show', `i-${c}`)).toMatch(/note: mine/);
        await lxc('image', 'export', `i-${c}`, path(`image-${c}`));
        expect(await lxc('image', 'list', '-f', 'csv')).toMatch(`i-${c}`);
        await lxc('image', 'delete', `i-${c}`);
        for (const each of [c, `${c}-named`, `${c}-moved`, `${c}-back`]) await lxc('delete', each);
      });

      test('lxc connects over TLS with the trust password, and watches events', { timeout: 120_000 }, async () => {
        const c = fresh();
        await lxc('config', 'set', 'core.trust_password=secret');
        const url = `https://${daemon.daemon.lxdHttpsAddress() ?? ''}`;
        expect((await lxc.run(['remote', 'add', `w${c}`, url, '--accept-certificate', '--password', 'no'])).code).toBe(
          1,
        );
        await lxc('remote', 'add', `r${c}`, url, '--accept-certificate', '--password', 'secret');
        const monitor = lxc.run(['monitor', `r${c}:`, '--type=lifecycle', '--format=json']);
        await lxc('launch', 'bb', `r${c}:${c}`);
        expect(await lxc('exec', `r${c}:${c}`, '--', 'echo', 'far')).toBe('far\n');
        await lxc('copy', `r${c}:${c}`, `${c}-near`, '--stateless');
        await lxc('delete', `r${c}:${c}`, `${c}-near`, '--force');
        const [trusted] = await daemon.get('/1.0/certificates?recursion=1');
        await daemon.call('DELETE', `/1.0/certificates/${trusted.fingerprint}`);
        expect((await monitor).stdout).toMatch(/container-started[^]*container-deleted/);
        expect((await lxc.run(['list', `r${c}:`])).code).toBe(1);
      });
    });

    test.skipIf(missing.pylxd !== undefined)(
      'pylxd drives a container through its whole life',
      { timeout: 120_000 },
      async () => {
        const c = fresh();
        const script = `
import json, pylxd, sys, warnings
warnings.simplefilter('ignore')
client = pylxd.Client(endpoint='http+unix://' + sys.argv[1].replace('/', '%2F'))
name = sys.argv[2]
client.containers.create({'name': name, 'source': {'type': 'image', 'alias': 'bb'}}, wait=True)
c = client.containers.get(name)
c.start(wait=True)
ran = c.execute(['sh', '-c', 'echo out; echo err >&2; exit 3'])
c.files.put('/root/x', b'data', mode=0o600)
data = c.files.get('/root/x').decode()
snapshot = c.snapshots.create('s', wait=True)
c.config['user.z'] = '1'
c.save(wait=True)
c.sync()
status = c.state().status
c.stop(wait=True, force=True)
published = c.snapshots.get('s').publish(wait=True)
published.delete(wait=True)
c.rename(name + 'n', wait=True)
try:
    client.containers.get(name)
except pylxd.exceptions.NotFound:
    gone = True
pool = client.storage_pools.get('default')
pool.volumes.create({'name': name, 'type': 'custom', 'config': {}})
pool.volumes.get('custom', name).delete()
client.profiles.create(name, config={'user.p': '1'}, devices={}).delete()
client.containers.get(name + 'n').delete(wait=True)
print(json.dumps([list(ran), data, c.config['user.z'], status, gone]))`;
        const ran = await runProgram('/usr/bin/python3', ['-c', script, socket, c]);
        expect(ran.stderr).toBe('');
        expect(JSON.parse(ran.stdout)).toEqual([[3, 'out\n', 'err\n'], 'data', '1', 'Running', true]);
      },
    );

    test.skipIf(missing.ansible !== undefined || runtime === 'lxc')(
      'Ansible creates a container, and a second run changes nothing',
      { timeout: 120_000 },
      async () => {
        const c = fresh();
        const url = `unix:${socket}`;
        const source = { type: 'image', mode: 'local', alias: 'bb' };
        const task = (more: object) => ({
          'community.general.lxd_container': { name: c, url, snap_url: url, timeout: 60, ...more },
        });
        const started = { state: 'started', source, profiles: ['default'] };
        const tasks = [
          { ...task(started), register: 'first' },
          { ...task(started), register: 'again' },
          { assert: { that: ['first is changed', 'again is not changed'] } },
          task({ state: 'frozen', config: { 'user.y': '2' } }),
          task({ state: 'absent', force_stop: true }),
        ];
        const vars = { ansible_python_interpreter: '/usr/bin/python3' };
        const play = { hosts: 'localhost', connection: 'local', gather_facts: false, vars, tasks };
        writeFileSync(path('play.yml'), JSON.stringify([play]));
        const env = { HOME: work, ANSIBLE_LOCALHOST_WARNING: '0' };
        const ran = await runProgram('ansible-playbook', ['-i', 'localhost,', path('play.yml')], { env });
        expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/ok=5 +changed=3 .*failed=0/)]);
        await until(async () => !(await daemon.get('/1.0/containers')).includes(`/1.0/containers/${c}`));
      },
    );
  });
});
