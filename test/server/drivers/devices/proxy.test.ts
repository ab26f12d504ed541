// Proxy devices with real connections between host and container, device nodes that work, and what a killed daemon leaves behind.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { markOf } from '../../../../server/drivers/runtime/nic/plug.ts';
import { dirTag } from '../../../../server/drivers/runtime/safe-names.ts';
import {
  call,
  createContainer,
  type Json,
  leaveNothing,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { bundleDaemon, startChild } from '../../../support/daemons/child-process.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { until } from '../../../support/until.ts';
import { freeSubnet } from '../../../support/hosts/free-resources.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const subnet = freeSubnet();

const missing = await realRuntimeMissing();
const text = (command: string, ...args: string[]): string => execFileSync(command, args, { encoding: 'utf8' });

const aliasOf = (link: string): string => {
  try {
    return readFileSync(`/sys/class/net/${link}/ifalias`, 'utf8').trim();
  } catch {
    return ''; // Another daemon removed it meanwhile.
  }
};

/** What gantryd makes for forwards, filters and limits on the host: names of links and tables. Those of other daemons carry other tags. */
function ownParts({ dir }: TestDaemon): readonly string[] {
  const tag = dirTag(join(dir, 'runtime'));
  const links = readdirSync('/sys/class/net').filter(
    (name) => name.startsWith('gtifb') && aliasOf(name) === markOf(tag),
  );
  const tables = new RegExp(`\\b(?:table bridge gantry(?:nic)?_${tag}|gantry_proxy_${dirTag(dir)}_\\w+)`, 'g');
  return [...links, ...(text('nft', 'list', 'tables').match(tables) ?? [])];
}

const echoServers = `
const net = require('node:net');
const answer = (change) => (socket) => { socket.on('error', () => {}); change(socket); };
const stream = (port, host, change) => net.createServer({ allowHalfOpen: true }, answer(change)).listen(port, host);
stream(7000, '0.0.0.0', (socket) => socket.pipe(socket));
stream(7100, '127.0.0.1', (socket) => socket.pipe(socket));
stream(7101, '127.0.0.1', (socket) => {
  socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase())).on('end', () => socket.end());
});
const udp = require('node:dgram').createSocket('udp4');
udp.on('message', (message, from) => udp.send(message, from.port, from.address));
udp.bind(7001, '127.0.0.1', () => console.log('ready'));
`;

describe.skipIf(missing !== undefined)('on real containers', () => {
  const bridge = 'gtyebr0';
  let real: TestDaemon;
  const work = tempFolder('gtye-');
  let devices: Json = {};
  let server: ChildProcess | undefined;
  beforeAll(async () => {
    real = await makeSeeded({ runtime: 'lxc' });
    await uploadBusybox(real);
    const config = { 'ipv4.address': `${subnet}.1/24`, 'ipv6.address': 'none', 'ipv4.nat': 'false' };
    expect((await real.call('POST', '/1.0/networks', { name: bridge, config })).status).toBe(200);
    await createContainer(real, 'c1', {
      source: { type: 'image', alias: 'busybox' },
      devices: {
        eth0: { type: 'nic', nictype: 'bridged', parent: bridge, name: 'eth0', 'ipv4.address': `${subnet}.9` },
      },
    });
    devices = (await real.get('/1.0/containers/c1')).devices;
    expect((await setState(real, 'c1', 'start')).err).toBe('');
    await until(async () => (await sh('ip addr show eth0')).out.includes(`${subnet}.9`));
    await serve();
  });
  afterEach(async () => {
    await real.ok('PUT', '/1.0/containers/c1', { profiles: ['default'], devices });
  });
  afterAll(async () => {
    server?.kill('SIGKILL');
    await leaveNothing(real);
    expect(text('ip', '-o', 'link')).not.toMatch(/gtye/);
    expect(ownParts(real)).toEqual([]);
  });

  const sh = async (script: string): Promise<{ code: number; out: string }> => {
    const { exitCode, stdout, stderr } = await execIn(real.host.runtime, 'c1', ['sh', '-c', script]);
    return { code: exitCode, out: `${stdout}${stderr}` };
  };
  /** Echo servers in the container's network; they end with the test, or with the next call after a reboot. */
  const serve = async (): Promise<void> => {
    server?.kill('SIGKILL');
    const { initPid } = real.host.runtime.probe('c1');
    const started = spawn('nsenter', ['-t', `${initPid}`, '-n', '--', process.execPath, '-e', echoServers]);
    server = started;
    await new Promise<void>((resolve) => started.stdout.once('data', () => resolve()));
  };
  const patch = async (more: object): Promise<void> => {
    const answer = await real.call('PATCH', '/1.0/containers/c1', { devices: more });
    expect([answer.status, answer.bytes.toString()]).toEqual([200, expect.anything()]);
  };
  const proxy = (listen: string, connectTo: string, more: object = {}): object => ({
    type: 'proxy',
    listen,
    connect: connectTo,
    ...more,
  });

  test('tcp to the container: both ways, half-closed, much data, many ports, and nothing listens once it is gone', async () => {
    await patch({ web: proxy('tcp:127.0.0.1:17100-17101', 'tcp:127.0.0.1:7100-7101') });
    await until(async () => (await ask(17100, 'hello').catch(() => '')) === 'hello');
    expect(await ask(17101, 'louder')).toBe('LOUDER');
    // The echo comes back whole although the client has ended its half long before.
    const much = 'x'.repeat(3_000_000);
    expect((await ask(17100, much)).length).toBe(much.length);
    expect(await Promise.all(Array.from({ length: 20 }, (_, index) => ask(17100, `n${index}`)))).toEqual(
      Array.from({ length: 20 }, (_, index) => `n${index}`),
    );
    await patch({ web: { type: 'none' } });
    await expect(ask(17100, 'x')).rejects.toThrow(/ECONNREFUSED/);
  });

  test('a far end that is not there closes the connection and harms nobody', async () => {
    await patch({ web: proxy('tcp:127.0.0.1:17102', 'tcp:127.0.0.1:7999') });
    expect(await ask(17102, 'x').catch((error: Error) => error.message)).toMatch(/^$|ECONNRESET|EPIPE/);
    expect((await real.get('/1.0')).api_version).toBe('1.0');
  });

  test('connections pass from the container to the host, to a low port and through a socket file with an owner', async () => {
    const { server: echoing, port } = await echo();
    try {
      await patch({
        low: proxy('tcp:127.0.0.1:80', `tcp:127.0.0.1:${port}`, { bind: 'container' }),
        sock: proxy('unix:/srv/host.sock', `tcp:127.0.0.1:${port}`, {
          bind: 'container',
          uid: '33',
          gid: '34',
          mode: '0640',
        }),
        abstract: proxy('unix:@gtye', `tcp:127.0.0.1:${port}`, { bind: 'container' }),
        file: proxy('tcp:127.0.0.1:17103', 'unix:/srv/host.sock'),
        named: proxy('tcp:127.0.0.1:17104', 'unix:@gtye'),
      });
      expect((await sh('echo from-inside | nc -w 3 127.0.0.1 80')).out).toBe('from-inside\n');
      expect((await sh('stat -c "%u %g %a %F" /srv/host.sock')).out).toBe('33 34 640 socket\n');
      expect([await ask(17103, 'by file'), await ask(17104, 'by name')]).toEqual(['by file', 'by name']);
    } finally {
      echoing.close();
    }
    await patch({ sock: { type: 'none' } });
    expect((await sh('ls /srv')).out).toBe('');
  });

  test('a link in the container leads a forward nowhere else', async () => {
    const hostSocket = join(work, 'host.sock');
    const server = createServer((socket) => socket.end('the host answered')).listen(hostSocket);
    onTestFinished(() => void server.close());
    await sh(`mkdir -p ${work}; ln -s ${hostSocket} /srv/trap.sock; ln -s / /srv/dir`);
    await patch({ trap: proxy('tcp:127.0.0.1:17105', 'unix:/srv/trap.sock') });
    expect(await ask(17105, 'x').catch(() => '')).toBe('');
    await patch({ made: proxy(`unix:/srv/dir${work}/made.sock`, 'tcp:127.0.0.1:1', { bind: 'container' }) });
    expect(existsSync(join(work, 'made.sock'))).toBe(false);
    expect((await sh(`ls ${work}`)).out).toBe('made.sock\n');
  });

  test('a socket file of the host has its owner and mode, replaces a dead one, and never a living one', async () => {
    const path = join(work, 'in.sock');
    await patch({ file: proxy(`unix:${path}`, 'tcp:127.0.0.1:7100', { mode: '0600', uid: '12' }) });
    expect([lstatSync(path).isSocket(), lstatSync(path).mode & 0o777, lstatSync(path).uid]).toEqual([true, 0o600, 12]);
    expect(await ask(path, 'by file')).toBe('by file');
    const answer = await real.call('PATCH', '/1.0/containers/c1', {
      devices: { twin: proxy(`unix:${path}`, 'tcp:127.0.0.1:7100') },
    });
    expect([answer.status, answer.body.metadata.message]).toEqual([400, expect.stringMatching(/twin.*listens/)]);
    expect(await ask(path, 'still')).toBe('still');
    await patch({ file: { type: 'none' } });
    expect(existsSync(path)).toBe(false);
  });

  test('a port that is taken is an error, and nothing of the device stays', async () => {
    const { server: echoing, port } = await echo();
    try {
      const answer = await real.call('PATCH', '/1.0/containers/c1', {
        devices: { web: proxy(`tcp:127.0.0.1:17106,${port}`, 'tcp:127.0.0.1:7100') },
      });
      expect([answer.status, answer.body.metadata.message]).toEqual([400, expect.stringMatching(/in use/)]);
      await expect(ask(17106, 'x')).rejects.toThrow(/ECONNREFUSED/);
    } finally {
      echoing.close();
    }
  });

  test('udp both ways, and between udp and tcp', async () => {
    await patch({
      dns: proxy('udp:127.0.0.1:17107', 'udp:127.0.0.1:7001'),
      mixed: proxy('udp:127.0.0.1:17108', 'tcp:127.0.0.1:7100'),
      back: proxy('tcp:127.0.0.1:17109', 'udp:127.0.0.1:7001'),
    });
    expect(await datagram(17107, 'ping')).toBe('ping');
    expect(await datagram(17108, 'as a stream')).toBe('as a stream');
    expect(await askOnce(17109, 'as a datagram')).toBe('as a datagram');
  });

  test('the PROXY protocol tells the server its client', async () => {
    await patch({ web: proxy('tcp:127.0.0.1:17110', 'tcp:127.0.0.1:7100', { proxy_protocol: 'true' }) });
    expect(await ask(17110, 'body')).toMatch(/^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ 17110\r\nbody$/);
  });

  test('nat forwards in the kernel, and its rules go with the device', async () => {
    await patch({ web: proxy(`tcp:${subnet}.1:17111`, `tcp:${subnet}.9:7000`, { nat: 'true' }) });
    expect(text('nft', 'list', 'ruleset')).toContain(`dport 17111 dnat ip to ${subnet}.9:7000`);
    expect(await ask(17111, 'kernel', `${subnet}.1`)).toBe('kernel');
    await patch({ web: { type: 'none' } });
    expect(ownParts(real).filter((part) => part.startsWith('gantry_proxy'))).toEqual([]);
  });

  test('device nodes work, belong to whom they should, and come and go with the host’s', async () => {
    const node = join(work, 'late');
    await patch({
      zero: { type: 'unix-char', source: '/dev/zero', path: '/dev/my/zero', uid: '5', gid: '6', mode: '0640' },
      late: { type: 'unix-char', source: node, path: '/dev/late', required: 'false' },
    });
    expect((await sh('stat -c "%u %g %a" /dev/my/zero; head -c 3 /dev/my/zero | wc -c')).out).toBe('5 6 640\n3\n');
    expect((await sh('ls /dev/late')).code).not.toBe(0);
    execFileSync('mknod', [node, 'c', '1', '3']);
    await until(async () => (await sh('test -c /dev/late && echo gone > /dev/late')).code === 0);
    await rm(node);
    await until(async () => (await sh('ls /dev/late')).code !== 0);
    // While no daemon looks as well.
    await real.restart(() => void execFileSync('mknod', [node, 'c', '1', '3']));
    await until(async () => (await sh('test -c /dev/late')).code === 0);
    await real.restart(() => rm(node));
    await until(async () => (await sh('ls /dev/late')).code !== 0);
    await patch({ zero: { type: 'none' } });
    expect((await sh('ls /dev/my')).out).toBe('');
    const answer = await real.call('PATCH', '/1.0/containers/c1', {
      devices: { no: { type: 'unix-char', path: '/dev/nope' } },
    });
    expect(answer.body.metadata.message).toMatch(/no.*\/dev\/nope does not exist/);
  });

  test('forwards and nodes are there from the start, after a reboot from inside and after a restart of the daemon', async () => {
    await patch({
      web: proxy('tcp:127.0.0.1:17112', 'tcp:127.0.0.1:7100'),
      zero: { type: 'unix-char', source: '/dev/full', path: '/dev/full2' },
    });
    expect((await setState(real, 'c1', 'restart', { force: true })).err).toBe('');
    await serve();
    await until(async () => (await ask(17112, 'a').catch(() => '')) === 'a');
    const { initPid } = real.host.runtime.probe('c1');
    await sh('/bin/busybox reboot -f').catch(() => {});
    await until(() => ![0, initPid].includes(real.host.runtime.probe('c1').initPid));
    await serve();
    await until(async () => (await ask(17112, 'b').catch(() => '')) === 'b');
    expect((await sh('test -c /dev/full2')).code).toBe(0);
    await real.restart(async () => {
      await expect(ask(17112, 'x')).rejects.toThrow(/ECONNREFUSED/);
    });
    expect(await ask(17112, 'c')).toBe('c');
  });

  test('a macvlan of a host interface and a whole host interface are lent out and come back under their names', async () => {
    text('ip', 'link', 'add', 'gtyeh0', 'type', 'veth', 'peer', 'name', 'gtyeh1');
    try {
      const before = text('cat', '/sys/class/net/gtyeh0/address');
      await patch({ mv: { type: 'nic', nictype: 'macvlan', parent: 'gtyeh1', name: 'mv0' } });
      expect((await sh('ls /sys/class/net')).out).toContain('mv0');
      await patch({
        mv: { type: 'none' },
        lent: {
          type: 'nic',
          nictype: 'physical',
          parent: 'gtyeh0',
          name: 'wan',
          hwaddr: '00:16:3e:00:99:01',
          mtu: '1300',
        },
      });
      expect((await sh('cat /sys/class/net/wan/address /sys/class/net/wan/mtu')).out).toBe('00:16:3e:00:99:01\n1300\n');
      expect(existsSync('/sys/class/net/gtyeh0')).toBe(false);
      expect((await setState(real, 'c1', 'stop', { force: true })).err).toBe('');
      expect([
        readFileSync('/sys/class/net/gtyeh0/address', 'utf8'),
        readFileSync('/sys/class/net/gtyeh0/mtu', 'utf8'),
      ]).toEqual([before, '1500\n']);
      expect((await setState(real, 'c1', 'start')).err).toBe('');
      expect((await sh('ls /sys/class/net')).out).toContain('wan');
      await patch({ lent: { type: 'none' } });
      expect(readFileSync('/sys/class/net/gtyeh0/address', 'utf8')).toBe(before);
    } finally {
      execFileSync('ip', ['link', 'delete', 'gtyeh0'], { stdio: 'ignore' });
    }
  });

  test('a daemon killed with forwards and limits in force leaves no orphan, whatever became of the container', async () => {
    const { dir } = real;
    await serve();
    await real.stop();
    const bundle = bundleDaemon();
    const onChild = async (work: (wire: { socketPath: string }) => Promise<void>): Promise<void> => {
      const child = await startChild(bundle, dir, 'lxc');
      try {
        await work({ socketPath: child.socketPath });
      } finally {
        await child.kill('SIGKILL');
      }
    };
    try {
      await onChild(async (wire) => {
        const more = {
          eth5: {
            type: 'nic',
            nictype: 'bridged',
            parent: bridge,
            name: 'eth5',
            'limits.max': '10Mbit',
            'security.mac_filtering': 'true',
          },
          web: proxy('tcp:127.0.0.1:17113', 'tcp:127.0.0.1:7100'),
          nat: proxy(`tcp:${subnet}.1:17114`, `tcp:${subnet}.9:7000`, { nat: 'true' }),
        };
        const answer = await call(wire, 'PATCH', '/1.0/containers/c1', { devices: more });
        expect([answer.status, answer.bytes.toString()]).toEqual([200, expect.anything()]);
      });
      const count = (): number[] =>
        ['gtifb', 'table bridge', 'gantry_proxy'].map(
          (kind) => new Set(ownParts(real).filter((part) => part.startsWith(kind))).size,
        );
      expect(count()).toEqual([1, 1, 1]);
      // It still runs: the next daemon finds it as it was.
      await onChild(async () => {
        expect(count()).toEqual([1, 1, 1]);
        await until(async () => (await ask(17113, 'again').catch(() => '')) === 'again');
      });
      // It ends while nobody looks.
      process.kill((await pidOf(dir)) ?? -1, 'SIGKILL');
      await onChild(async (wire) => {
        const status = async (): Promise<string> =>
          (await call(wire, 'GET', '/1.0/containers/c1')).metadata.status as string;
        await until(async () => ['Stopped', 'Running'].includes(await status()));
        if ((await status()) === 'Running') {
          const stop = await call(wire, 'PUT', '/1.0/containers/c1/state', { action: 'stop', force: true });
          await call(wire, 'GET', `${stop.body.operation}/wait`);
        }
        expect(count()).toEqual([0, 0, 0]);
        await expect(ask(17113, 'x')).rejects.toThrow(/ECONNREFUSED/);
      });
    } finally {
      await real.restart();
      if ((await real.get('/1.0/containers/c1')).status === 'Stopped') await setState(real, 'c1', 'start');
    }
  });

  async function pidOf(dir: string): Promise<number | undefined> {
    const file = `/run/gantry/runtime-${dirTag(join(dir, 'runtime'))}/c1/run.json`;
    const state = JSON.parse(await readFile(file, 'utf8')) as { initPid: number };
    return state.initPid;
  }

  function ask(to: number | string, message: string, host = '127.0.0.1'): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket: Socket = typeof to === 'number' ? connect(to, host) : connect(to);
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', reject);
      socket.on('end', () => resolve(Buffer.concat(chunks).toString()));
      socket.end(message);
    });
  }

  /** Without ending its half: a datagram has no end. */
  function askOnce(port: number, message: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', reject);
      socket.once('data', (chunk: Buffer) => {
        socket.destroy();
        resolve(chunk.toString());
      });
      socket.write(message);
    });
  }

  async function datagram(port: number, message: string): Promise<string> {
    const socket = createSocket('udp4');
    try {
      return await new Promise<string>((resolve, reject) => {
        const again = setInterval(() => socket.send(message, port, '127.0.0.1'), 300);
        const timer = setTimeout(() => reject(new Error('no answer')), 5000);
        socket.on('message', (answer) => {
          clearInterval(again);
          clearTimeout(timer);
          resolve(answer.toString());
        });
        socket.send(message, port, '127.0.0.1');
      });
    } finally {
      socket.close();
    }
  }

  async function echo(): Promise<{ server: Server; port: number }> {
    const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket).on('error', () => {}));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, port: (server.address() as AddressInfo).port };
  }
});
