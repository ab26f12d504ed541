// Publishing containers and snapshots over the real daemon: the contents of the image, a container made from it, refusals, and the state
// after a failure (spec 4.8; real system 14.2).
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { makeBusyboxRootfs } from '../../../support/images/busybox-rootfs.ts';
import {
  createContainer,
  type Json,
  makeDaemon,
  makeSeeded,
  realRuntimeMissing,
  seed,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { metadataFile, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { sha256 } from '../../../support/images/remotes.ts';
import { unmountBelow } from '../../../support/hosts/mounts.ts';
import { until } from '../../../support/until.ts';

const isRoot = process.getuid?.() === 0;
const noBtrfs = isRoot ? await btrfsMissing() : 'the daemon is not root';
if (!isRoot) console.log('skipped: owners, attributes and devices of published images: the tests do not run as root');
if (noBtrfs !== undefined) console.log(`skipped: publishing on btrfs: ${noBtrfs}`);

let count = 0;
const unique = (prefix: string): string => `${prefix}${process.pid}x${(count += 1)}`;
const publish = (daemon: TestDaemon, source: object, more: object = {}): Promise<Operation> =>
  daemon.run('POST', '/1.0/images', { source, ...more });
function fingerprintOf(operation: Operation): string {
  expect([operation.status, operation.err]).toEqual(['Success', '']);
  return String(operation.metadata?.['fingerprint']);
}
const sh = (cwd: string, script: string): string => execFileSync('sh', ['-ec', script], { cwd, encoding: 'utf8' });

/** Everything that a root file system can have but device nodes, which images never restore. */
const oddities = `
  mkdir -p etc "od d" deep/$(printf '%0100d' 7)/$(printf '%0100d' 8)
  echo hello > etc/motd; chmod 640 etc/motd; chown 1000:1001 etc/motd
  ln etc/motd etc/same; ln -s /etc/shadow etc/link; ln -s ../../../../../out etc/out
  echo x > "od d/new
line"; printf '\\303\\244' | xargs touch
  touch -d '2001-02-03 04:05:06.123456789' etc/old
  cp /bin/true setuid; chmod 4755 setuid
  truncate -s 64M holes; printf end >> holes
  mkfifo pipe; : > deep/$(printf '%0100d' 7)/$(printf '%0100d' 8)/file
  setfattr -n user.color -v blue etc/motd 2>/dev/null || true`;
const listing = `
  find . -mindepth 1 ! -type d -printf '%P|%y|%m|%U|%G|%n|%s|%T@|%l\\n' | sort
  find . -mindepth 1 -type d -printf '%P|%m|%U|%G\\n' | sort
  getfattr -R -d -m - . 2>/dev/null | sort; [ $(stat -c %b holes) -lt 1000 ] && echo sparse`;

describe('the expiry of a published image', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded();
    await createContainer(daemon, 'c');
  });
  afterAll(() => daemon.cleanUp());
  const source = { type: 'container', name: 'c' };
  const expiryOf = async (more: object): Promise<string> =>
    (await daemon.get(`/1.0/images/${fingerprintOf(await publish(daemon, source, more))}`)).expires_at;

  test('is the one of the request, in UTC; without it, or with the zero time, the one of its metadata', async () => {
    const own = await expiryOf({});
    expect(own).not.toContain('2031');
    expect(await expiryOf({ expires_at: '0001-01-01T00:00:00Z', properties: { n: '1' } })).toBe(own);
    expect(await expiryOf({ expires_at: '2031-02-03T06:05:06+02:00', properties: { n: '2' } })).toBe(
      '2031-02-03T04:05:06Z',
    );
    const refused = await daemon.call('POST', '/1.0/images', { source, expires_at: 'soon' });
    expect([refused.status, refused.bytes.toString()]).toEqual([400, expect.stringContaining('RFC 3339')]);
  });
});

describe.each(['dir', 'btrfs'])('a container on %s', (driver) => {
  const isOff = driver === 'btrfs' && noBtrfs !== undefined;
  let daemon: TestDaemon;
  beforeAll(async () => {
    if (isOff) return;
    daemon = await makeDaemon();
    const config = driver === 'btrfs' ? { size: '256MiB' } : {};
    await daemon.call('POST', '/1.0/storage-pools', { name: 'default', driver, config });
    await daemon.call('PUT', '/1.0/profiles/default', {
      devices: { root: { type: 'disk', path: '/', pool: 'default' } },
    });
  });
  afterAll(async () => {
    if (isOff) return;
    await daemon.cleanUp();
    unmountBelow(daemon.dir);
  });
  const volume = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name);
  const rootfs = (name: string): string => join(volume(name), 'rootfs');
  const files = (): string[] =>
    (readdirSync(join(daemon.dir, 'images'), { recursive: true }) as string[]).filter((name) => name !== '.uploads');
  const templates = [
    { name: 'templates', flag: '5' },
    { name: 'templates/hello.tpl', content: 'hi {{ container.name }}', mode: 0o644 },
  ];
  async function fromImage(name: string, properties = 'os: busybox, release: "1"'): Promise<void> {
    const content = `architecture: x86_64\ncreation_date: 1700000000\nexpiry_date: 1900000000\nproperties: {n: ${unique('n')}, ${properties}}
templates: {/etc/hello: {when: [create, start], template: hello.tpl, properties: {a: b}}}\n`;
    const bytes = tarOf(
      { ...metadataFile, content },
      rootfsDirectory,
      { name: 'rootfs/base', content: 'x' },
      ...templates,
    );
    await daemon.ok('POST', '/1.0/images', bytes);
    await createContainer(daemon, name, { source: { type: 'image', fingerprint: sha256(bytes) } });
  }

  test.skipIf(isOff || !isRoot)('equals the container made from its image', async () => {
    const [name, copy, mine] = [unique('c'), unique('c'), unique('a')];
    await fromImage(name);
    sh(rootfs(name), oddities);
    sh(rootfs(name), 'mknod null c 1 3');
    const fingerprint = fingerprintOf(
      await publish(
        daemon,
        { type: 'container', name },
        { public: true, filename: 'mine.tgz', aliases: [{ name: mine }] },
      ),
    );
    expect(await daemon.get(`/1.0/images/${fingerprint}`)).toMatchObject({
      public: true,
      filename: 'mine.tgz',
      cached: false,
      architecture: 'x86_64',
      created_at: '2023-11-14T22:13:20Z',
      expires_at: '2030-03-17T17:46:40Z',
      aliases: [{ name: mine }],
      properties: { os: 'busybox', release: '1' },
    });
    await createContainer(daemon, copy, { source: { type: 'image', alias: mine } });
    sh(rootfs(name), 'rm null');
    expect(sh(rootfs(copy), listing)).toBe(sh(rootfs(name), listing));
    expect(sh(rootfs(copy), listing)).toContain('sparse');
    const metadata = `/1.0/containers/${copy}/metadata`;
    expect((await daemon.get(metadata)).templates).toEqual((await daemon.get(metadata.replace(copy, name))).templates);
    const template = await daemon.call('GET', `${metadata}/templates?path=hello.tpl`);
    expect(template.bytes.toString()).toBe('hi {{ container.name }}');
    expect(readdirSync(volume(copy)).toSorted()).toEqual(['metadata.yaml', 'rootfs', 'templates']);
  });

  test.skipIf(isOff)('is published in the state of its snapshot, with other properties, while it runs', async () => {
    const name = unique('c');
    await fromImage(name);
    sh(rootfs(name), 'echo then > file');
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    sh(rootfs(name), 'echo now > file');
    await setState(daemon, name, 'start');
    const operation = await publish(daemon, { type: 'snapshot', name: `${name}/s` }, { properties: { kind: 'snap' } });
    const fingerprint = fingerprintOf(operation);
    expect(operation.resources).toMatchObject({ snapshots: [`/1.0/containers/${name}/snapshots/s`] });
    expect((await daemon.get(`/1.0/images/${fingerprint}`)).properties).toEqual({ kind: 'snap' });
    const copy = unique('c');
    await createContainer(daemon, copy, { source: { type: 'image', properties: { kind: 'snap' } } });
    expect(sh(rootfs(copy), 'cat file')).toBe('then\n');
    await daemon.ok('DELETE', `/1.0/images/${fingerprint}`);
    await setState(daemon, name, 'stop', { force: true });
  });

  test.skipIf(isOff || !isRoot)('a container whose files have host ids is published with its own ids', async () => {
    const name = unique('c');
    await createContainer(daemon, name);
    // Where the host cannot map ids at mount, a start changes the owners of the files to these.
    const { config } = await daemon.get(`/1.0/containers/${name}`);
    const { Hostid: base } = (JSON.parse(config['volatile.idmap.next']) as Json[]).find((one) => one.Nsid === 0);
    const owners = { root: [base, base], user: [base + 1000, base + 5], stranger: [7, base] };
    for (const [file, [uid, gid]] of Object.entries(owners)) {
      sh(rootfs(name), `echo ${file} > ${file}`);
      chownSync(join(rootfs(name), file), uid, gid);
    }
    chownSync(rootfs(name), base, base);
    const fingerprint = fingerprintOf(
      await publish(daemon, { type: 'container', name }, { compression_algorithm: 'none' }),
    );
    const { bytes } = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
    const listed = execFileSync('tar', ['-tvf', '-', '--numeric-owner'], { input: bytes, encoding: 'utf8' });
    const owner = (file: string): string | undefined =>
      new RegExp(`(\\S+) +\\d+ \\S+ \\S+ \\./rootfs/${file}$`, 'm').exec(listed)?.[1];
    expect([owner('root'), owner('user'), owner('stranger')]).toEqual(['0/0', '1000/5', '65534/0']);
  });

  // What becomes of the files is all that the kind of pool decides.
  if (driver !== 'dir') return;

  test('a container that was made from nothing has metadata too; a device node is in the archive', async () => {
    const name = unique('c');
    await createContainer(daemon, name);
    if (isRoot) sh(rootfs(name), 'mknod null c 1 3');
    sh(rootfs(name), 'echo x > file');
    const fingerprint = fingerprintOf(
      await publish(daemon, { type: 'container', name }, { compression_algorithm: 'none' }),
    );
    const exported = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
    const listed = execFileSync('tar', ['-tvf', '-'], { input: exported.bytes, encoding: 'utf8' });
    expect(listed).toMatch(/^-rw-r--r-- 0\/0 .* metadata\.yaml$/m);
    expect(listed).toMatch(/^-.* \.\/rootfs\/file$/m);
    if (isRoot) expect(listed).toMatch(/^c.* 1,3 .*rootfs\/null$/m);
    const other = await makeDaemon();
    try {
      await other.ok('POST', '/1.0/images', exported.bytes);
    } finally {
      await other.cleanUp();
    }
    const again = await publish(daemon, { type: 'container', name }, { compression_algorithm: 'none' });
    if (again.status === 'Failure') expect(again.err).toMatch(/already exists/);
  });

  test.each([
    ['gzip', '1f8b'],
    ['xz', 'fd377a58'],
    ['zstd', '28b52ffd'],
    ['', '28b52ffd'],
  ])('is packed by %j', async (compression_algorithm, magic) => {
    const name = unique('c');
    await createContainer(daemon, name);
    await daemon.call('PATCH', '/1.0', { config: { 'images.compression_algorithm': 'zstd' } });
    const fingerprint = fingerprintOf(await publish(daemon, { type: 'container', name }, { compression_algorithm }));
    const { bytes } = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
    expect(bytes.subarray(0, 4).toString('hex')).toMatch(new RegExp(`^${magic}`));
    await daemon.call('PATCH', '/1.0', { config: { 'images.compression_algorithm': '' } });
  });

  test('is refused while it runs, and where request or host do not fit', async () => {
    const name = unique('c');
    await createContainer(daemon, name);
    const refused = async (source: object, more: object = {}): Promise<[number, string]> => {
      const answer = await daemon.call('POST', '/1.0/images', { source, ...more });
      return [answer.status, String(answer.body.metadata?.message)];
    };
    const container = { type: 'container', name };
    expect(await refused({ type: 'container', name: 'nope' })).toEqual([404, expect.stringMatching(/nope/)]);
    expect(await refused({ type: 'container' })).toEqual([400, expect.stringMatching(/source.name/)]);
    expect(await refused({ type: 'container', name: `${name}/s` })).toEqual([
      400,
      expect.stringMatching(/source.name/),
    ]);
    expect(await refused({ type: 'snapshot', name })).toEqual([400, expect.stringMatching(/CONTAINER\/SNAPSHOT/)]);
    expect(await refused({ type: 'snapshot', name: `${name}/s` })).toEqual([404, expect.stringMatching(/snapshot/)]);
    expect(await refused(container, { compression_algorithm: 'gzp' })).toEqual([
      400,
      expect.stringMatching(/did you mean gzip/),
    ]);
    expect(await refused(container, { compression_algorithm: '../sh' })).toEqual([400, expect.anything()]);
    expect(await refused(container, { auto_update: true })).toEqual([400, expect.stringMatching(/auto_update/)]);
    await setState(daemon, name, 'start');
    expect(await refused(container)).toEqual([400, expect.stringMatching(/running/)]);
    await setState(daemon, name, 'stop', { force: true });
  });

  test('a container that is cancelled, or packed into an invalid archive, leaves nothing behind', async () => {
    const name = unique('c');
    await createContainer(daemon, name);
    sh(rootfs(name), 'head -c 20M /dev/urandom > big');
    const before = files();
    const started = await daemon.call('POST', '/1.0/images', {
      source: { type: 'container', name },
      compression_algorithm: 'xz',
    });
    const operation = started.body.operation as string;
    await until(() => files().length > before.length);
    await daemon.call('DELETE', operation);
    expect(await daemon.wait(operation)).toMatchObject({ status: 'Cancelled' });
    expect(files()).toEqual(before);
    const failed = await publish(daemon, { type: 'container', name }, { compression_algorithm: 'cat' });
    expect([failed.status, failed.err]).toEqual(['Failure', expect.stringMatching(/cat ended with 1/)]);
    expect(files()).toEqual(before);
    const [used, lock] = [await daemon.get('/1.0/containers'), await setState(daemon, name, 'start')];
    expect([(used as Json[]).length > 0, lock.status]).toEqual([true, 'Success']);
    await setState(daemon, name, 'stop', { force: true });
    sh(rootfs(name), 'rm big');
  });
});

const noReal = await realRuntimeMissing();
test.skipIf(noReal !== undefined)(
  'a real container that has run is published, and a container made from the image runs',
  async () => {
    const daemon = await makeDaemon({ runtime: 'lxc' });
    try {
      await seed(daemon);
      await createContainer(daemon, 'first');
      const at = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs');
      await makeBusyboxRootfs(at('first'), { dhcp: false });
      expect((await setState(daemon, 'first', 'start')).err).toBe('');
      const exec = await daemon.ok('POST', '/1.0/containers/first/exec', {
        command: ['sh', '-c', 'echo inside > /made; chown 1000:1000 /made'],
      });
      expect(exec.metadata?.['return']).toBe(0);
      expect((await daemon.call('POST', '/1.0/images', { source: { type: 'container', name: 'first' } })).status).toBe(
        400,
      );
      await setState(daemon, 'first', 'stop', { force: true });
      const fingerprint = fingerprintOf(await publish(daemon, { type: 'container', name: 'first' }));
      await createContainer(daemon, 'second', { source: { type: 'image', fingerprint } });
      expect((await setState(daemon, 'second', 'start')).err).toBe('');
      const owner = await daemon.ok('POST', '/1.0/containers/second/exec', {
        command: ['sh', '-c', 'test "$(stat -c %u:%g /made)" = 1000:1000 && test "$(cat /made)" = inside'],
      });
      expect(owner.metadata?.['return']).toBe(0);
      expect(existsSync(join(at('second'), 'made'))).toBe(true);
    } finally {
      await daemon.cleanUp();
    }
  },
);
