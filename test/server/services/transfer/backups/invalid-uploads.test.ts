// Uploads that are no backups, or attack who unpacks them: refused by name, and nothing is left.
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { seededDaemon } from '../../../../support/daemons/file-daemon.ts';
import { tarOf, type TarPiece } from '../../../../support/images/hostile.ts';
import { until } from '../../../../support/until.ts';

const daemon = await seededDaemon();

const rootfs = (container: string): string =>
  join(daemon.dir, 'storage-pools', 'default', 'containers', container, 'rootfs');
const octets = { 'content-type': 'application/octet-stream' };
const restore = (bytes: Buffer, headers: Record<string, string> = {}) =>
  daemon.call('POST', '/1.0/containers', bytes, { ...octets, ...headers });
const restored = (bytes: Buffer, headers: Record<string, string> = {}) =>
  daemon.ok('POST', '/1.0/containers', bytes, { ...octets, ...headers });
const drop = (name: string) => daemon.ok('DELETE', `/1.0/containers/${name}`);
const indexOf = (more: object = {}, config: object = {}): string =>
  JSON.stringify({
    name: 'hostile',
    backend: 'dir',
    pool: 'default',
    snapshots: [],
    optimized: false,
    type: 'container',
    config: {
      container: { architecture: 'x86_64', config: {}, devices: {}, profiles: ['default'], ...config },
      snapshots: [],
    },
    ...more,
  });
const file = (name: string, content = 'x'): TarPiece => ({ name, content, mode: 0o644 });
const directory = (name: string): TarPiece => ({ name, flag: '5' });
const index = (more: object = {}, config: object = {}): TarPiece => file('backup/index.yaml', indexOf(more, config));
const container = [directory('backup/container/'), directory('backup/container/rootfs/')];
const whole = (...more: readonly TarPiece[]): Buffer => tarOf(index(), ...container, ...more);

describe('invalid uploads', () => {
  test.each<[string, Buffer, RegExp]>([
    ['nothing', Buffer.alloc(0), /empty/],
    ['text', Buffer.from('hello'), /unknown packing/],
    ['a tarball of something else', tarOf(file('etc/passwd'), ...container), /does not begin with backup\/index.yaml/],
    ['no index', tarOf(...container), /does not begin with backup\/index.yaml/],
    ['an index that is no YAML', tarOf(file('backup/index.yaml', 'a: b: c: ['), ...container), /is not YAML/],
    ['an index that is a list', tarOf(file('backup/index.yaml', '[1]'), ...container), /must be an object/],
    ['an index without a name', tarOf(file('backup/index.yaml', 'pool: x'), ...container), /name: is required/],
    ['an index that bursts', tarOf(file('backup/index.yaml', bomb()), ...container), /is not YAML|must be|name/],
    ['a virtual machine', tarOf(index({ type: 'virtual-machine' }), ...container), /of a virtual-machine/],
    ['a bad name', tarOf(index({ name: '../x' }), ...container), /Invalid container name/],
    ['an unknown architecture', tarOf(index({}, { architecture: 'pdp11' }), ...container), /pdp11/],
    ['an unknown key', tarOf(index({}, { config: { 'limits.wheels': '4' } }), ...container), /limits\.wheels/],
    ['an unknown device', tarOf(index({}, { devices: { x: { type: 'wheel' } } }), ...container), /wheel/],
    [
      'a form of another driver',
      tarOf(index({ optimized: true, backend: 'btrfs' }), ...container),
      /form of the storage driver btrfs/,
    ],
  ])('%s', async (_what, bytes, message) => {
    const answer = await restore(bytes);
    expect(answer.bytes.toString()).toMatch(message);
    expect(answer.status).toBe(400);
  });

  test.each<[string, Buffer, RegExp]>([
    ['no container', tarOf(index()), /it has no backup\/container/],
    [
      'packing that is cut off',
      gzipSync(whole({ name: 'backup/container/rootfs/a', content: randomBytes(300_000) })).subarray(0, -5000),
      /gzip failed.*unexpected end of file/,
    ],
    ['no root file system', tarOf(index(), container[0] ?? index()), /it has no rootfs/],
    ['a cut', whole(file('backup/container/rootfs/a')).subarray(0, -1024), /cut off/],
    ['..', whole(file('backup/container/rootfs/../../../../evil')), /leads out of the backup/],
    ['.. next to the parts', whole(file('backup/../evil')), /is no part of a backup/],
    ['another part', whole(file('backup/evil/x')), /is no part of a backup/],
    ['an absolute name', whole(file('/evil')), /is no part of a backup/],
    ['a link as part', tarOf(index(), { name: 'backup/container', flag: '2', link: '/etc' }), /is a symbolic link/],
    [
      'a link as root file system',
      tarOf(index(), container[0] ?? index(), { name: 'backup/container/rootfs', flag: '2', link: '/' }),
      /must be a directory/,
    ],
    [
      'files through a link',
      whole({ name: 'backup/container/rootfs/l', flag: '2', link: '/tmp' }, file('backup/container/rootfs/l/x')),
      /passes through the symbolic link/,
    ],
    [
      'hard links out',
      whole({ name: 'backup/container/rootfs/h', flag: '1', link: '/etc/passwd' }),
      /outside of its part/,
    ],
    [
      'hard links to the index',
      whole({ name: 'backup/container/rootfs/h', flag: '1', link: 'backup/index.yaml' }),
      /outside of its part/,
    ],
    [
      'hard links by ..',
      whole({ name: 'backup/container/rootfs/h', flag: '1', link: 'backup/container/../index.yaml' }),
      /outside of the backup/,
    ],
    ['the same twice', whole(file('backup/container/rootfs/a'), file('backup/container/rootfs/a')), /is there twice/],
    [
      'a size bomb',
      whole({ name: 'backup/container/rootfs/a', content: '', size: 2 ** 50 }),
      /there is room for|cut off/,
    ],
    [
      'a template that is a link',
      whole(directory('backup/container/templates/'), {
        name: 'backup/container/templates/t',
        flag: '2',
        link: '/etc/shadow',
      }),
      /must be a plain file/,
    ],
    [
      'a snapshot that is not listed',
      tarOf(index(), directory('backup/snapshots/s/'), directory('backup/snapshots/s/rootfs/'), ...container),
      /not in its list/,
    ],
    [
      'a listed snapshot without files',
      tarOf(index({ snapshots: ['s'] }), ...container),
      /files of the snapshot s are missing/,
    ],
    ['a snapshot called ..', tarOf(index(), directory('backup/snapshots/../'), ...container), /is no part of a backup/],
    [
      'parts in pieces',
      tarOf(
        index(),
        ...container,
        directory('backup/snapshots/s/'),
        directory('backup/snapshots/s/rootfs/'),
        file('backup/container/rootfs/a'),
      ),
      /are not together/,
    ],
  ])('%s', async (_what, bytes, message) => {
    const answer = await restore(bytes);
    expect(answer.status).toBe(202);
    const operation = await daemon.wait(answer.body.operation as string);
    expect(operation.status).toBe('Failure');
    expect(operation.err).toMatch(message);
    expect(operation.err).not.toMatch(/image/);
    expect((await daemon.call('GET', '/1.0/containers/hostile')).status).toBe(404);
    await until(async () => (await readdir(join(daemon.dir, 'storage-pools', 'default', 'tmp'))).length === 0);
    expect(await readdir(join(daemon.dir, 'backups', '.uploads'))).toEqual([]);
  });

  test('the same archive without the attack is accepted', async () => {
    const more = { v: 99, optimized_header: false };
    const bytes = tarOf(
      index(more, {
        config: { 'user.n': 1, 'user.b': true, 'volatile.uuid': 'x', 'volatile.last_state.power': 'RUNNING' },
      }),
      ...container,
      file('backup/container/backup.yaml', 'x: y'),
      file('backup/container/rootfs/a', 'mine'),
    );
    await restored(bytes);
    const { config } = await daemon.get('/1.0/containers/hostile');
    expect(config).toMatchObject({ 'user.n': '1', 'user.b': 'true' });
    expect(config).not.toHaveProperty(['volatile.uuid']);
    expect(config).not.toHaveProperty(['volatile.last_state.power']);
    expect(await readFile(join(rootfs('hostile'), 'a'), 'utf8')).toBe('mine');
    expect(await readdir(join(rootfs('hostile'), '..'))).toEqual(['rootfs']);
    await drop('hostile');
  });

  test('snapshots that the index names but the archive lacks are not made up', async () => {
    const { config, ...head } = JSON.parse(indexOf()) as { config: { container: object } };
    const described = { ...config, snapshots: [{ ...config.container, name: 'ghost' }] };
    await restored(tarOf(file('backup/index.yaml', JSON.stringify({ ...head, config: described })), ...container));
    expect(await daemon.get('/1.0/containers/hostile/snapshots')).toEqual([]);
    await drop('hostile');
  });

  test('backups of old releases, which describe the container only outside the files, are accepted', async () => {
    const { config, ...head } = JSON.parse(indexOf()) as { config: object };
    const bytes = tarOf(
      file('backup/index.yaml', JSON.stringify(head)),
      ...container,
      file('backup/container/backup.yaml', JSON.stringify(config)),
    );
    await restored(bytes);
    await drop('hostile');
  });
});

function bomb(): string {
  const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
  for (let at = 1; at < 12; at += 1)
    lines.push(`a${at}: &a${at} [${Array.from({ length: 10 }, () => `*a${at - 1}`).join(',')}]`);
  return lines.join('\n');
}
