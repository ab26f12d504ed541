// The guest socket of real containers: its answers depend on the calling process. Processes of the container use the host's perl.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  call,
  createContainer,
  leaveNothing,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { uploadBusybox } from '../../support/images/busybox.ts';
import { until as within } from '../../support/until.ts';
import { execIn } from '../../support/drivers/exec-in.ts';

/** A limit for busy machines. */
const until = (condition: Parameters<typeof within>[0]): Promise<void> => within(condition, 25_000);

const missing = await realRuntimeMissing();
const never = new AbortController().signal;

const client = `use IO::Socket::UNIX; my ($sock, $path) = @ARGV;
my $s = IO::Socket::UNIX->new(Peer => $sock) or do { print "none: $!"; exit };
print $s "GET $path HTTP/1.0\\r\\n\\r\\n"; my $all = join '', <$s>;
my ($head, $body) = split /\\r\\n\\r\\n/, $all, 2; $head =~ /^HTTP\\S+ (\\d+)/; print "$1 $body";`;

describe.skipIf(missing !== undefined)('guests of real containers', () => {
  let daemon: TestDaemon;
  let count = 0;
  const host = Object.fromEntries(
    ['/usr', '/lib', '/lib64'].map((path) => [
      `host${path.replace('/', '-')}`,
      { type: 'disk', source: path, path, readonly: 'true' },
    ]),
  );

  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
    await uploadBusybox(daemon, { busybox: { dhcp: false } });
    for (const name of ['c1', 'c2']) {
      const config = { 'user.who': name, 'cloud-init.user-data': `#cloud-config\nhostname: ${name}\n` };
      await createContainer(daemon, name, { source: { type: 'image', alias: 'busybox' }, config, devices: host });
      expect((await setState(daemon, name, 'start')).err).toBe('');
    }
  });
  afterAll(() => leaveNothing(daemon));

  const run = async (name: string, argv: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await execIn(daemon.host.runtime, name, argv);
    return `${stdout}${stderr}`;
  };
  const ask = (name: string, path: string, socket = '/dev/lxd/sock', before: readonly string[] = []): Promise<string> =>
    run(name, [...before, '/usr/bin/perl', '-e', client, socket, path]);
  const directoryOf = async (name: string): Promise<string> => {
    for (const uuid of readdirSync(join(daemon.dir, 'guests'))) {
      const socketPath = join(daemon.dir, 'guests', uuid, 'sock');
      const shown = await run(name, ['ls', '-i', '/dev/lxd/sock']);
      if (shown.trim().startsWith(`${statSync(socketPath).ino} `)) return join(daemon.dir, 'guests', uuid);
    }
    throw new Error(`no directory of ${name}`);
  };

  test('root of each container gets the data of its own container', async () => {
    expect(await ask('c1', '/1.0/config/user.who')).toBe('200 c1');
    expect(await ask('c2', '/1.0/config/user.who')).toBe('200 c2');
    expect(await ask('c1', '/1.0/config/cloud-init.user-data')).toBe('200 #cloud-config\nhostname: c1\n');
    const id = (await daemon.get('/1.0/containers/c1')).config['volatile.cloud-init.instance-id'];
    expect(await ask('c1', '/1.0/meta-data')).toBe(`200 #cloud-config\ninstance-id: ${id}\nlocal-hostname: c1\n`);
  });

  test('a process in a nested namespace belongs to its container', async () => {
    expect(await ask('c1', '/1.0/config/user.who', '/dev/lxd/sock', ['unshare', '-p', '-f'])).toBe('200 c1');
  });

  test('other users of the container are refused with 401', async () => {
    const { exitCode, stdout } = await (async () => {
      const child = await daemon.host.runtime.spawn(
        'c1',
        {
          argv: ['/usr/bin/perl', '-e', client, '/dev/lxd/sock', '/1.0/config/user.who'],
          uid: 1000,
          gid: 1000,
          stdio: { kind: 'pipes' },
        },
        never,
      );
      const chunks: Buffer[] = [];
      child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
      child.stderr?.resume();
      return { exitCode: await child.exited, stdout: () => Buffer.concat(chunks).toString() };
    })();
    expect(exitCode).toBe(0);
    await until(() => stdout().startsWith('401 '));
  });

  test('processes of the host, and of other containers that reach the socket, are refused', async () => {
    const directory = await directoryOf('c2');
    const fromHost = await call({ socketPath: join(directory, 'sock') }, 'GET', '/1.0/config/user.who');
    expect([fromHost.status, fromHost.bytes.toString()]).toEqual([
      500,
      'you are not in the container of this socket\n',
    ]);
    const leak = { leak: { type: 'disk', source: directory, path: '/leak' } };
    const patched = await daemon.call('PATCH', '/1.0/containers/c1', { devices: leak });
    expect([patched.status, patched.bytes.toString()]).toEqual([200, expect.anything()]);
    expect(await ask('c1', '/1.0/config/user.who', '/leak/sock')).toMatch(/^500 /);
    expect(await ask('c1', '/1.0/config/user.who')).toBe('200 c1');
  });

  test('the socket answers after a restart of the daemon and after a reboot from inside', async () => {
    await daemon.restart();
    expect(await ask('c1', '/1.0/config/user.who')).toBe('200 c1');
    const before = daemon.host.runtime.probe('c2').initPid;
    await run('c2', ['/bin/busybox', 'reboot', '-f']).catch(() => '');
    await until(() => ![0, before].includes(daemon.host.runtime.probe('c2').initPid));
    await until(async () => (await ask('c2', '/1.0/config/user.who')) === '200 c2');
  });

  test('security.devlxd removes and restores it while the container runs, over a reboot', async () => {
    const set = (value: string) => daemon.call('PATCH', '/1.0/containers/c2', { config: { 'security.devlxd': value } });
    expect((await set('false')).status).toBe(200);
    expect(await ask('c2', '/1.0')).toMatch(/^none: /);
    const before = daemon.host.runtime.probe('c2').initPid;
    await run('c2', ['/bin/busybox', 'reboot', '-f']).catch(() => '');
    await until(() => ![0, before].includes(daemon.host.runtime.probe('c2').initPid));
    await until(async () => (await ask('c2', '/1.0')).startsWith('none: '));
    expect((await set('true')).status).toBe(200);
    expect(await ask('c2', '/1.0/config/user.who')).toBe('200 c2');
  });

  test('a privileged container has one too', async () => {
    count += 1;
    const name = `privileged${count}`;
    await createContainer(daemon, name, {
      source: { type: 'image', alias: 'busybox' },
      config: { 'user.who': name, 'security.privileged': 'true' },
      devices: host,
    });
    expect((await setState(daemon, name, 'start')).err).toBe('');
    expect(await ask(name, '/1.0/config/user.who')).toBe(`200 ${name}`);
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
  });
});
