// Files of hostile containers: entries replaced while they are read and written, on every runtime of this host.
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filesConformance } from '../../conformance/files.ts';
import { request as httpRequest } from 'node:http';
import { makeBusyboxRootfs } from '../../support/images/busybox-rootfs.ts';
import {
  type Answer,
  createContainer,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { flip, flipperMissing } from '../../support/hostile/flipper.ts';
import { until } from '../../support/until.ts';
import { execIn } from '../../support/drivers/exec-in.ts';

const noReal = await realRuntimeMissing();
const noFlipper = flipperMissing();
if (noFlipper !== undefined) console.log(`skipped: entries exchanged during access: ${noFlipper}`);

const raceMs = 1500;
const patienceMs = 20_000;
const at = (name: string, path: string): string => `/1.0/containers/${name}/files?path=${encodeURIComponent(path)}`;
const why = (answer: Answer): string => answer.metadata?.message as string;
const rootfsOf = (daemon: TestDaemon, name: string): string =>
  join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs');

/** Host files outside any container: a directory with the names that the tests use. */
function makeCanary(daemon: TestDaemon): { readonly dir: string; intact(): void } {
  const dir = join(daemon.dir, 'canary');
  const names = ['file', 'victim'];
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir);
  for (const name of names) writeFileSync(join(dir, name), 'secret of the host', { mode: 0o666 });
  return {
    dir,
    intact() {
      expect(readdirSync(dir)).toEqual(names);
      for (const name of names) expect(readFileSync(join(dir, name), 'utf8')).toBe('secret of the host');
    },
  };
}

/** A write replaces an exchanged link: the next round needs a new one. */
function keepLink(dir: string, canary: string): void {
  if (['plain', 'link2'].some((name) => lstatSync(join(dir, name)).isSymbolicLink())) return;
  symlinkSync(join(canary, 'file'), join(dir, 'link3'));
  renameSync(join(dir, 'link3'), join(dir, 'link2'));
}

async function race(daemon: TestDaemon, name: string): Promise<void> {
  const canary = makeCanary(daemon);
  const dir = join(rootfsOf(daemon, name), 'race');
  mkdirSync(join(dir, 'real'), { recursive: true });
  writeFileSync(join(dir, 'real/file'), 'inside');
  writeFileSync(join(dir, 'plain'), 'inside');
  symlinkSync(`${'../'.repeat(40)}${canary.dir.slice(1)}`, join(dir, 'link'));
  symlinkSync(join(canary.dir, 'file'), join(dir, 'link2'));
  const flippers = [
    await flip(join(dir, 'real'), join(dir, 'link')),
    await flip(join(dir, 'plain'), join(dir, 'link2')),
  ];
  let reads = 0;
  const failures = new Set<string>();
  try {
    const end = Date.now() + raceMs;
    // On a busy machine until both sides of the exchange occurred.
    for (let turn = 0; Date.now() < end || (reads <= 10 && Date.now() < end + patienceMs); turn++) {
      keepLink(dir, canary.dir);
      const answers = await Promise.all([
        daemon.call('GET', at(name, '/race/real/file')),
        daemon.call('GET', at(name, '/race/plain')),
        daemon.call('POST', at(name, '/race/real/file'), 'inside'),
        daemon.call('POST', at(name, '/race/plain'), 'inside'),
        daemon.call('POST', at(name, `/race/real/new${turn % 3}`), 'inside'),
        daemon.call('POST', at(name, `/race/real/dir${turn % 3}`), '', { 'x-svc-type': 'directory' }),
        daemon.call('POST', at(name, `/race/real/soft${turn % 3}`), 'x', { 'x-svc-type': 'symlink', 'x-svc-uid': '3' }),
        daemon.call('DELETE', at(name, '/race/real/victim')),
        daemon.call('DELETE', at(name, `/race/real/new${turn % 3}`)),
      ]);
      for (const { status, bytes, headers } of answers) {
        if (status === 500) failures.add(bytes.toString());
        else expect([200, 400, 404, 409]).toContain(status);
        if (headers['x-svc-type'] === 'file') reads++;
        if (headers['x-svc-type'] !== 'symlink') expect(bytes.toString()).not.toContain('secret');
      }
    }
  } finally {
    for (const flipper of flippers) expect(await flipper.stop()).toBeGreaterThan(1000);
  }
  expect(reads).toBeGreaterThan(10);
  // One request truncates what another one reads.
  expect([...failures].filter((text) => !text.includes('it got shorter while it was read'))).toEqual([]);
  canary.intact();
}

describe('on the simulation', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded();
    await createContainer(daemon, 'web');
  });
  afterAll(() => daemon.cleanUp());

  test.skipIf(noFlipper !== undefined)('exchanging directories and links never leads outside the container', () =>
    race(daemon, 'web'),
  );
});

describe.skipIf(noReal !== undefined)('on real containers', () => {
  let daemon: TestDaemon;
  const inside = async (name: string, command: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await execIn(daemon.host.runtime, name, ['/bin/sh', '-c', command]);
    if (exitCode !== 0) throw new Error(`${command}: ${exitCode} ${stdout}${stderr}`);
    return stdout.trim();
  };

  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
    for (const [name, config] of [
      ['web', {}],
      ['strong', { 'security.privileged': 'true' }],
    ] as const) {
      await createContainer(daemon, name, { config });
      await makeBusyboxRootfs(rootfsOf(daemon, name), { dhcp: false });
      expect(await setState(daemon, name, 'start')).toMatchObject({ status: 'Success' });
    }
  });
  afterAll(() => daemon.cleanUp());

  describe('a running one', () => {
    filesConformance({ daemon: () => daemon });
  });

  test.skipIf(noFlipper !== undefined)('exchanging directories and links never leads outside the container', () =>
    race(daemon, 'web'),
  );

  test.each(['web', 'strong'])('owners and modes in %s equal those that its programs see', async (name) => {
    const headers = { 'x-svc-uid': '1000', 'x-svc-gid': '42', 'x-svc-mode': '0640' };
    expect((await daemon.call('POST', at(name, '/etc/owned'), 'x', headers)).status).toBe(200);
    expect(
      (await daemon.call('POST', at(name, '/etc/dir'), '', { ...headers, 'x-svc-type': 'directory' })).status,
    ).toBe(200);
    expect(
      (await daemon.call('POST', at(name, '/etc/soft'), 'owned', { ...headers, 'x-svc-type': 'symlink' })).status,
    ).toBe(200);
    expect(await inside(name, 'stat -c "%u %g %a" /etc/owned /etc/dir')).toBe('1000 42 640\n1000 42 640');
    expect(await inside(name, 'stat -c "%u %g" /etc/soft /etc')).toBe('1000 42\n0 0');
    await inside(name, 'echo hi > /etc/mine; chown 7:8 /etc/mine; chmod 4711 /etc/mine');
    const answer = await daemon.call('GET', at(name, '/etc/mine'));
    expect(answer.headers).toMatchObject({ 'x-svc-uid': '7', 'x-svc-gid': '8', 'x-svc-mode': '4711' });
  });

  test.each(['web', 'strong'])('files in a file system that %s mounted itself are reachable', async (name) => {
    await inside(
      name,
      'mkdir -p /own && mount -t tmpfs -o mode=0755 own /own && mkdir /own/mine && chown 5 /own/mine && chmod 700 /own/mine',
    );
    for (const path of ['/own/file', '/own/mine/file']) {
      expect((await daemon.call('POST', at(name, path), 'in memory', { 'x-svc-uid': '9' })).status).toBe(200);
      expect(await inside(name, `cat ${path}; stat -c " %u %g" ${path}`)).toBe('in memory 9 0');
      expect((await daemon.call('GET', at(name, path))).bytes.toString()).toBe('in memory');
    }
    expect((await daemon.call('POST', at(name, '/own/dir'), '', { 'x-svc-type': 'directory' })).status).toBe(200);
    expect((await daemon.call('DELETE', at(name, '/own/mine/file'))).status).toBe(200);
    expect(await inside(name, 'ls -A /own/mine')).toBe('');
  });

  test("the kernel's own files are refused, also through links made inside", async () => {
    const before = readFileSync('/proc/sys/vm/swappiness', 'utf8');
    for (const name of ['web', 'strong']) {
      await inside(name, 'ln -sf /proc/sys/vm/swappiness /etc/switch; ln -sf /proc/1/root/etc/hostname /etc/around');
      for (const path of ['/etc/switch', '/proc/sys/vm/swappiness', '/proc/sysrq-trigger']) {
        const answer = await daemon.call('POST', at(name, path), '99');
        expect(answer.status, path).toBe(400);
        expect(why(answer)).toContain("belongs to the kernel's proc");
      }
      expect([400, 404]).toContain((await daemon.call('GET', at(name, '/proc/kcore'))).status);
      expect((await daemon.call('GET', at(name, '/proc/self/root/etc/passwd'))).status).toBe(404);
      const group = await daemon.call('POST', at(name, '/sys/fs/cgroup/mine'), '', { 'x-svc-type': 'directory' });
      expect([400, 404]).toContain(group.status);
    }
    expect(readFileSync('/proc/sys/vm/swappiness', 'utf8')).toBe(before);
  });

  test('a file with another one mounted on it is overwritten in place, and stays mounted', async () => {
    await inside('web', 'echo old > /plain1; echo other > /bound1; mount --bind /plain1 /bound1');
    expect((await daemon.call('POST', at('web', '/bound1'), 'new')).status).toBe(200);
    expect(await inside('web', 'cat /plain1; grep -c " /bound1 " /proc/mounts')).toBe('new1');
    await inside('web', 'umount /bound1');
    expect(await inside('web', 'cat /bound1')).toBe('other');
  });

  test("a file in a container's own file system is overwritten with owner, mode and content", async () => {
    await inside(
      'web',
      'mkdir -p /mem && mount -t tmpfs mem /mem && echo old > /mem/f && chown 5:6 /mem/f && chmod 640 /mem/f',
    );
    expect((await daemon.call('POST', at('web', '/mem/f'), 'new')).status).toBe(200);
    expect(await inside('web', 'cat /mem/f; stat -c " %u %g %a" /mem/f; ls -A /mem; umount /mem')).toBe(
      'new 5 6 640\nf',
    );
  });

  test('neither a mount point nor its mount is removed', async () => {
    await inside('web', 'mkdir -p /plain /bound && mount --bind /plain /bound');
    for (const path of ['/proc', '/sys', '/dev/null', '/bound']) {
      const answer = await daemon.call('DELETE', at('web', path));
      expect([answer.status, why(answer)]).toEqual([400, expect.stringContaining('something is mounted there')]);
    }
    expect(await inside('web', 'grep -c -E " (/proc|/sys|/dev/null|/bound) " /proc/mounts')).toBe('4');
    await inside('web', 'umount /bound');
    expect((await daemon.call('DELETE', at('web', '/bound'))).status).toBe(200);
  });

  test('templates make files that belong to root inside, whatever is mounted at their place', async () => {
    const volume = join(rootfsOf(daemon, 'web'), '..');
    mkdirSync(join(volume, 'templates'), { recursive: true });
    writeFileSync(join(volume, 'templates/name.tpl'), 'I am {{ container.name }}\n');
    const when = { when: ['start'], template: 'name.tpl' };
    const templates = { '/etc/new/name': when, '/dev/shm/name': when };
    const body = { architecture: 'x86_64', creation_date: 1, templates };
    expect((await daemon.call('PUT', '/1.0/containers/web/metadata', body)).status).toBe(200);
    expect(await setState(daemon, 'web', 'restart', { force: true })).toMatchObject({ status: 'Success' });
    expect(await inside('web', 'cat /etc/new/name; stat -c "%u %g %a" /etc/new /etc/new/name')).toBe(
      'I am web\n0 0 755\n0 0 644',
    );
    expect((await daemon.call('PUT', '/1.0/containers/web/metadata', { ...body, templates: {} })).status).toBe(200);
    await inside('web', 'mkdir -p /own && mount -t tmpfs own /own');
  });

  test('a full disk is reported, and leaves no new file', async () => {
    await inside('web', 'mkdir /small && mount -t tmpfs -o size=1m small /small');
    const answer = await daemon.call('POST', at('web', '/small/big'), Buffer.alloc(8 * 1024 * 1024));
    expect([answer.status, why(answer)]).toEqual([500, 'Cannot write /small/big in container web: no space is left']);
    expect(await inside('web', 'ls -A /small; df -k /small | tail -1 | tr -s " " | cut -d " " -f 3')).toBe('0');
  });

  test('a container that stops during an upload fails it with the reason, and stops anyway', async () => {
    const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
      const upload = httpRequest(
        {
          socketPath: daemon.socketPath,
          method: 'POST',
          path: at('web', '/own/slow'),
          headers: { 'content-length': 11 },
        },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      upload.on('error', reject);
      upload.write('hello ', () => void stopped().then(() => upload.end('world')));
    });
    async function stopped(): Promise<void> {
      await until(async () => (await daemon.call('GET', at('web', '/own'))).status === 200);
      expect(await setState(daemon, 'web', 'stop', { force: true })).toMatchObject({ status: 'Success' });
    }
    const { status, text } = await answered;
    expect([status, text]).toEqual([500, expect.stringContaining('the container has stopped or restarted')]);
    expect((await daemon.call('GET', at('web', '/own/slow'))).status).toBe(404);
  });

  test('files written while a container is stopped have the right owners when it runs', async () => {
    const headers = { 'x-svc-uid': '1000', 'x-svc-gid': '1001', 'x-svc-mode': '0755' };
    await daemon.call('POST', at('web', '/etc/stopped'), 'x', headers);
    await daemon.call('POST', at('web', '/etc/stopped.d'), '', { ...headers, 'x-svc-type': 'directory' });
    expect(await setState(daemon, 'web', 'start')).toMatchObject({ status: 'Success' });
    expect(await inside('web', 'stat -c "%u %g %a" /etc/stopped /etc/stopped.d /etc/owned')).toBe(
      '1000 1001 755\n1000 1001 755\n1000 42 640',
    );
  });
});
