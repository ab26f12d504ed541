// The unmodified client `lxc` drives a real container. What each verb does is shown on the simulation, in test/e2e/lxc-verbs.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hostRemains, realRuntimeMissing, seed, withDaemon } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { clientMissing, lxcClient, runProgram } from '../../support/hosts/lxd-clients.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = clientMissing('lxc') ?? (await realRuntimeMissing());
if (missing !== undefined) console.log(`skipped: lxc with real containers: ${missing}`);

test.skipIf(missing !== undefined)('lxc launches a real container, runs commands in it, and moves files', async () => {
  const work = tempFolder('gtyl-');
  const path = (name: string): string => join(work, name);
  let dir = 'none';
  const lxc = lxcClient(path('lxd'), work);
  await withDaemon({ runtime: 'lxc', lxd: { socket: path('lxd/unix.socket') } }, async (daemon) => {
    dir = daemon.dir;
    await seed(daemon);
    const built = await buildBusyboxImage(path('image'), { busybox: { dhcp: false } });
    await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
    await lxc('launch', 'bb', 'c', '-c', 'user.a=b');
    expect(await lxc('list', 'status=running', 'user.a=b', '-f', 'csv', '-c', 'nst')).toBe('c,RUNNING,CONTAINER\n');
    expect(await lxc('list', 'status=stopped', '-f', 'csv', '-c', 'n')).toBe('');
    expect(await lxc('info', 'c')).toMatch(/Status: RUNNING[^]*Memory usage/);
    expect((await lxc.run(['exec', 'c', '-T', '--', 'sh', '-c', 'cat; exit 7'], { stdin: 'in' })).code).toBe(7);
    const asked = ['--user', '5', '--group', '6', '--cwd', '/tmp'];
    expect(await lxc('exec', 'c', ...asked, '--', 'sh', '-c', 'id; pwd')).toBe('uid=5 gid=6\n/tmp\n');
    const noId = await lxc.run(['exec', 'c', '--user', '4000000000', '--', 'id']);
    expect([noId.code, noId.stderr]).toEqual([1, expect.stringMatching(/no id 4000000000/)]);
    // `lxc` copies terminal settings from its standard input, so script(1) gives it a terminal.
    const typed = await runProgram('script', ['-qec', 'lxc exec c -t -- echo terminal', '/dev/null'], { env: lxc.env });
    expect([typed.code, typed.stdout]).toEqual([0, expect.stringMatching(/terminal\r\n/)]);

    writeFileSync(path('f'), 'data\n');
    await lxc('file', 'push', path('f'), 'c/root/f', '--mode', '0640', '--uid', '5');
    expect(await lxc('exec', 'c', '--', 'stat', '-c', '%a %u', '/root/f')).toBe('640 5\n');
    mkdirSync(path('tree/sub'), { recursive: true });
    writeFileSync(path('tree/sub/leaf'), 'leaf');
    await lxc('file', 'push', '-r', path('tree'), 'c/root');
    await lxc('file', 'pull', '-r', 'c/root/tree', path('back'));
    expect(readFileSync(path('back/tree/sub/leaf'), 'utf8')).toBe('leaf');
    expect((await lxc.run(['file', 'pull', 'c/root/none', '-'])).stderr).toMatch(/no such file/);

    expect(await lxc('console', 'c', '--show-log')).toMatch(/Console log/);
    await lxc('pause', 'c');
    expect(await lxc('list', 'c', '-f', 'csv', '-c', 's')).toBe('FROZEN\n');
    await lxc('start', 'c');
    await lxc('restart', 'c', '--force');
    await lxc('delete', 'c', '--force');
    expect(await lxc('list', 'c', '-f', 'csv')).toBe('');
  });
  await rm(work, { recursive: true, force: true });
  expect(hostRemains(dir)).toEqual([]);
});
