// The client and the engine against a real LXD server, where one is installed: a private daemon with its own socket.
import { execFileSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, dialectOf, type Client } from '../../server/client/client.ts';

import { parseMemoryStat } from '../../server/drivers/runtime/cgroup/usage.ts';
import { figuresOf, type Running } from '../../server/services/server/metric-figures.ts';
import { metricsText } from '../../server/services/server/metrics-text.ts';
import { busyboxMissing } from '../support/images/busybox-rootfs.ts';
import { cli } from '../support/cli/io.ts';
import { buildPrograms, runGantry } from '../support/cli/programs.ts';
import { makeTenant } from '../support/cli/tenant.ts';
import { freePort } from '../support/hosts/free-port.ts';
import { isLongRun } from '../support/left-out.ts';
import { buildBusyboxImage } from '../support/images/busybox.ts';
import { seededRandom } from '../support/random.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../support/hosts/stock-lxd.ts';
import { tempFolder } from '../support/temp-folder.ts';

const missing = stockLxdMissing();
if (missing !== undefined) console.log(`skipped: the client against a real LXD, since ${missing}`);

/** Each metric once: its name, its type, the names of its labels. */
function seriesOf(text: string): readonly string[] {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const series = [...text.matchAll(/^(lxd_\w+)\{(.*)\} /gm)].map(([, name = '', labels = '']) => {
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    return `${name} ${types.get(name)} ${names.toSorted().join(',')}`;
  });
  return [...new Set(series)];
}

const packets = { bytes: 1, packets: 1, errs: 0, drop: 0 };
const runningContainer: Running = {
  name: 'c',
  project: 'default',
  metrics: {
    initPid: 1,
    processes: 1,
    cpuUsageNs: 1,
    memory: { usage: 1, usage_peak: 1, swap_usage: 0, swap_usage_peak: 0 },
    network: {},
  },
  usage: {
    cpus: [{ cpu: '0', userSeconds: 1, systemSeconds: 1 }],
    memory: parseMemoryStat(''),
    memoryTotal: 1,
    disks: [{ device: 'vda', readBytes: 1, writtenBytes: 1, reads: 1, writes: 1 }],
    interfaces: { eth0: { receive: packets, transmit: packets } },
  },
  space: { fstype: 'ext4', avail: 1, free: 1, size: 1 },
};

let folder = '';
let lxd: StockLxd | undefined;
let client: Client;
const host = (): string => `unix://${lxd?.socketPath ?? ''}`;

describe.skipIf(missing !== undefined)('a real LXD', () => {
  beforeAll(async () => {
    folder = tempFolder('gantry-set-');
    lxd = await startStockLxd();
    client = createClient(host());
  });
  afterAll(async () => {
    await client.close();
    await lxd?.cleanUp();
  });

  test('is recognised by its dialect, and its errors and ETags are read', async () => {
    expect(dialectOf((await client.server()).metadata)).toBe('lxd');
    await expect(client.get('profile', 'none')).rejects.toMatchObject({ status: 404, code: 'notFound' });
    await client.create('profile', { name: 'etag', description: 'one' });
    const read = await client.get('profile', 'etag');
    expect(read.etag).toMatch(/[0-9a-f]{64}/);
    const write = { ifMatch: read.etag ?? '' };
    await client.put('profile', 'etag', { description: 'two' }, write);
    await expect(client.put('profile', 'etag', { description: 'three' }, write)).rejects.toMatchObject({ status: 412 });
    const renamed = await client.rename('profile', 'etag', 'other');
    expect(renamed.location).toBe('/1.0/profiles/other');
    await client.delete('profile', 'other');
    // The server runs some operations of its own after its start.
    for (const id of await client.operations.list()) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  });

  test.skipIf(busyboxMissing() !== undefined)('runs commands, on pipes and on a terminal', async () => {
    const image = await buildBusyboxImage(join(folder, 'busybox'), { busybox: { dhcp: false } });
    const upload = { files: { file: image.metadataPath }, fingerprint: image.fingerprint };
    await client.operations.run(() => client.uploadImage(upload));
    await client.create('storage_pool', { name: 'gtexec', driver: 'dir', config: {} });
    const devices = {
      root: { type: 'disk', path: '/', pool: 'gtexec' },
      file: { type: 'disk', path: '/on-disk', source: resolve('package-lock.json'), readonly: 'true' },
    };
    const source = { type: 'image', fingerprint: image.fingerprint };
    await client.operations.run(() => client.create('container', { name: 'gtx', profiles: [], devices, source }));
    const exec = (...words: string[]) => cli(['exec', '--host', host(), ...words]);
    try {
      await client.operations.run(() => client.putContainerState('gtx', { action: 'start', timeout: 30 }));
      // LXD loses the output of a program that ends at once, one time in five on a busy machine; with its own client, too.
      const run = await exec('gtx', '--env', 'A=b', '--', 'sh', '-c', 'echo $A; echo no >&2; sleep 0.5; exit 9');
      expect(run).toEqual({ code: 9, stdout: 'b\n', stderr: 'no\n' });
      const size = await exec('-t', 'gtx', '--', 'sh', '-c', 'stty size; sleep 0.5');
      expect(size).toEqual({ code: 0, stdout: '24 80\r\n', stderr: '' });
      // The end of input is Ctrl-D to a terminal, and what comes after it is not lost.
      const words = ['-t', 'gtx', '--', 'sh', '-c', 'cat; sleep 0.5; echo end; sleep 0.5'];
      const ended = await cli(['exec', '--host', host(), ...words], { piped: '' });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('end\r\n') });
      expect(await exec('gtx', '--', 'no-such-program')).toMatchObject({ code: 127 });
      expect(await cli(['logs', 'gtx', '--host', host()])).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/gtx: the server has no log of its console \(.*\): gantry logs gtx --log list/),
      });
      // Its metrics, of disks too: gantryd has the same ones, each of the same type and with the same labels. Only reads past the page
      // cache count for the container on every kernel: what is written later may count for the kernel, and its root is in memory.
      const read = ['dd', 'if=/on-disk', 'of=/dev/null', 'bs=64k', 'iflag=direct'];
      expect(await exec('gtx', '--', ...read)).toMatchObject({ code: 0 });
      const theirs = seriesOf((await lxd?.call('GET', '/1.0/metrics'))?.bytes.toString() ?? '');
      expect(theirs.filter((one) => /^lxd_(disk|filesystem)_/.test(one))).toHaveLength(7);
      const own = seriesOf(metricsText(figuresOf([runningContainer])));
      expect(own.toSorted()).toEqual(theirs.toSorted());
    } finally {
      const stop = { action: 'stop', force: true, timeout: 30 } as const;
      await client.operations.run(() => client.putContainerState('gtx', stop)).catch(() => {});
      await client.operations.run(() => client.delete('container', 'gtx'));
      await client.operations.run(() => client.delete('image', image.fingerprint));
      await client.delete('storage_pool', 'gtexec');
    }
  });

  test('is changed to match the manifests, kept that way, changed again and emptied', async () => {
    const set = join(folder, 'set');
    mkdirSync(join(set, 'image/rootfs/etc'), { recursive: true });
    writeFileSync(join(set, 'image/rootfs/etc/hostname'), 'c\n');
    writeFileSync(join(set, 'image/metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
    execFileSync('tar', ['-C', join(set, 'image'), '-czf', join(set, 'image.tgz'), 'metadata.yaml', 'rootfs']);
    const manifest = (memory: string): void => writeFileSync(join(set, 'main.yaml'), stack(memory));
    manifest('512MiB');
    const run = (...argv: string[]) => cli([...argv, set, '--host', host()]);

    const applied = await run('apply', '-y');
    expect(applied.stderr).not.toContain('Error');
    expect(applied.stdout).toContain('Apply complete! 6 added, 0 changed, 0 destroyed.');
    expect(await run('plan', '-detailed-exitcode')).toMatchObject({ code: 0 });

    manifest('256MiB');
    expect((await run('apply', '-y')).stdout).toContain('0 added, 1 changed');
    expect((await client.get('container', 'gtc1')).metadata.expanded_config['limits.memory']).toBe('256MiB');
    expect(await run('plan', '-detailed-exitcode')).toMatchObject({ code: 0 });

    const file = await client.exportImage((await client.list('image'))[0]?.fingerprint ?? '');
    expect(await sha256Of(file.body)).toBe(sha256OfFile(join(set, 'image.tgz')));

    const destroyed = await run('destroy', '-y');
    expect(destroyed.stdout).toContain('Destroy complete! 0 added, 0 changed, 6 destroyed.');
    expect(await client.list('container')).toEqual([]);
  });

  test('takes the stack of a client that is restricted to a project, also when it is killed, and gives the project back when it is empty', async () => {
    const server = lxd;
    if (server === undefined) return;
    const address = `127.0.0.1:${await freePort()}`;
    await server.call('PATCH', '/1.0', { config: { 'core.https_address': address } });
    const project = join(folder, 'project.yaml');
    writeFileSync(project, 'kind: project\nname: gtred\nconfig: { features.images: "false" }\n');
    const lead = (...argv: string[]) => cli([...argv, '-f', project, '--host', host()]);
    expect(await lead('apply', '-y')).toMatchObject({ code: 0 });
    const [random, programs] = [seededRandom(), buildPrograms()];
    const tenant = await makeTenant(server, join(server.dir, 'server.crt'), ['gtred']);
    const file = join(folder, 'tenant.yaml');
    const write = (value: string): void =>
      writeFileSync(file, `kind: profile\nname: web\nconfig: { user.a: ${value} }\n`);
    const team = (...argv: string[]) => cli([...argv, '-f', file, '--project', 'gtred', ...tenant.flags(address)]);
    const admin = (...argv: string[]) => cli([...argv, '-f', file, '--project', 'gtred', '--host', host()]);
    try {
      write('one');
      const both = await Promise.all([team('apply', '-y'), admin('apply', '-y')]);
      for (const { code, stderr } of both) expect([0, 5], stderr).toContain(code);
      expect(Math.min(...both.map(({ code }) => code))).toBe(0);
      expect(await admin('destroy', '-y')).toMatchObject({ code: 0 });
      write('two');
      expect((await team('apply', '-y')).stderr).not.toContain('Error');
      expect(await team('plan', '-detailed-exitcode')).toMatchObject({ code: 0 });
      for (const value of isLongRun ? ['three', 'four', 'five'] : ['three']) {
        write(value);
        const words = ['apply', '-y', '-f', file, '--project', 'gtred', ...tenant.flags(address)];
        const started = (child: ChildProcess): void =>
          void sleep(300 + random.next() * 700).then(() => child.kill('SIGKILL'));
        await runGantry(programs, words, { started });
        expect(await team('apply', '-y'), `seed ${random.seed}`).toMatchObject({ code: 0 });
        expect(await team('plan', '-detailed-exitcode'), `seed ${random.seed}`).toMatchObject({ code: 0 });
      }
      expect((await server.get('/1.0')).config).not.toHaveProperty(['user.gantry.set.default@gtred']);
      expect(await server.get('/1.0/profiles?project=gtred')).toContain('/1.0/profiles/gantry-notes?project=gtred');
      await server.call('DELETE', '/1.0/profiles/web?project=gtred');
      expect(await lead('destroy', '-y')).toMatchObject({ code: 0 });
      expect((await server.call('GET', '/1.0/projects/gtred')).status).toBe(404);
    } finally {
      tenant.remove();
    }
  });
});

async function sha256Of(body: AsyncIterable<unknown>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const sha256OfFile = (path: string): string => execFileSync('sha256sum', [path]).toString().slice(0, 64);

const stack = (memory: string): string => `
kind: storage_pool
name: gtpool
driver: dir
---
kind: profile
name: gtweb
config: { limits.memory: ${memory} }
devices:
  root: { type: disk, path: /, pool: gtpool }
---
kind: image
name: small
file: image.tgz
---
kind: image_alias
name: my/small
target: small
---
kind: container
name: gtc1
profiles: [gtweb]
source: { type: image, alias: my/small }
config: { user.note: hello, limits.cpu: 1 }
state: stopped
---
kind: container
name: gtc2
profiles: [gtweb]
source: { type: none }
state: stopped
`;
