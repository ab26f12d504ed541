// Requests that do not fit the disk of a pool, or of the state directory: each error says where there is no room, nothing is left of
// what failed, and the same request succeeds once there is room.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { call } from '../../support/daemons/daemon.ts';
import { bundleDaemon, read, startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { loopsGone, unmountBelow } from '../../support/hosts/mounts.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const noLoops =
  process.getuid?.() !== 0
    ? 'root is needed'
    : existsSync('/dev/loop-control')
      ? undefined
      : 'there are no loop devices';
if (noLoops !== undefined) console.log(`skipped: requests on full disks: ${noLoops}`);
const noBtrfs = noLoops ?? (await btrfsMissing());

const bundle = bundleDaemon();
const mebi = 1_048_576;
/** A refusal comes before the body is sent: else the connection would break amid it, and the answer would be lost. */
const octets = { 'content-type': 'application/octet-stream', expect: '100-continue' };
type Request = readonly [
  method: string,
  path: string,
  body?: object | Buffer,
  headers?: Readonly<Record<string, string>>,
];
/** Packed with gzip it does not become smaller. */
const big = (): Buffer => randomBytes(12 * mebi);

class Host {
  dir = '';
  #daemon: ChildDaemon | undefined;

  get daemon(): ChildDaemon {
    if (this.#daemon === undefined) throw new Error('it does not run');
    return this.#daemon;
  }
  async start(): Promise<void> {
    this.#daemon = await startChild(bundle, join(this.dir, 'state'), 'sim');
  }
  /** The error of the request or of its operation; empty: it succeeded. */
  async errorOf(...[method, path, body, headers]: Request): Promise<string> {
    const answer = await call(this.daemon, method, path, body, headers);
    if (answer.status >= 300) return answer.bytes.toString();
    if (answer.status !== 202) return '';
    return (await read(this.daemon, `${answer.body.operation}/wait`)).err as string;
  }
  async done(...request: Request): Promise<void> {
    expect([request[0], request[1], await this.errorOf(...request)]).toEqual([request[0], request[1], '']);
  }
  /** A file system of its own in the directory. */
  mount(path: string, megabytes: number): void {
    mkdirSync(path, { recursive: true });
    const file = `${path}.disk`;
    writeFileSync(file, '');
    truncateSync(file, megabytes * mebi);
    execFileSync('mkfs.ext4', ['-q', '-m', '0', file]);
    execFileSync('mount', ['-o', 'loop', file, path]);
    rmSync(join(path, 'lost+found'), { recursive: true, force: true });
  }
  async close(): Promise<void> {
    await this.#daemon?.kill('SIGKILL');
    unmountBelow(this.dir);
    rmSync(this.dir, { recursive: true, force: true });
    await loopsGone(this.dir);
  }
}

/** All entries; the database is not of the requests, and the list of pools is written a second behind a change. */
const entriesOf = (...folders: string[]): string[] =>
  folders
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))))
    .filter(
      (path) => !/\/(?:database|logs|records|filler|runtime|guests)(?:\/|$)|\/(?:\.uploads|pools\.json)$/.test(path),
    )
    .toSorted();

const imageOf = (content: Buffer): Buffer =>
  tarOf({ ...metadataFile, content: `${goodMetadata}# ${randomBytes(8).toString('hex')}\n` }, rootfsDirectory, {
    name: 'rootfs/large',
    content,
  });

describe.each(noLoops !== undefined ? [] : noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'])(
  'a full pool of driver %s',
  (driver) => {
    const host = new Host();
    let saved: { readonly container: Buffer; readonly volume: Buffer };
    const place = (): string => (driver === 'dir' ? join(host.dir, 'disk') : join(host.dir, 'state/storage-pools/p'));
    const root = (pool: string) => ({ root: { type: 'disk', path: '/', pool } });
    const volumes = (pool: string): string => `/1.0/storage-pools/${pool}/volumes/custom`;
    const inPool = (pool: string, ...rest: string[]): string =>
      join(pool === 'p' ? place() : join(host.dir, 'state/storage-pools/q'), ...rest);

    beforeAll(async () => {
      host.dir = await realpath(tempFolder('gantry-fullp-'));
      mkdirSync(join(host.dir, 'state'));
      if (driver === 'dir') host.mount(place(), 240);
      await host.start();
      const config = driver === 'dir' ? { source: place() } : { size: '256MiB' };
      await host.done('POST', '/1.0/storage-pools', { name: 'p', driver, config });
      await host.done('POST', '/1.0/storage-pools', { name: 'q', driver: 'dir' });
      for (const pool of ['p', 'q']) {
        await host.done('POST', '/1.0/containers', { name: `c${pool}`, source: { type: 'none' }, devices: root(pool) });
        writeFileSync(inPool(pool, `containers/c${pool}/rootfs/big`), big());
        await host.done('POST', volumes(pool), { name: 'v' });
        writeFileSync(inPool(pool, 'custom/v/big'), big());
      }
      await host.done('POST', '/1.0/containers/cp/snapshots', { name: 's' });
      await host.done('POST', volumes('p'), { name: 'older', source: { type: 'copy', name: 'v', pool: 'q' } });
      await host.done('POST', '/1.0/containers', {
        name: 'older',
        devices: root('p'),
        source: { type: 'copy', source: 'cq' },
      });
      writeFileSync(inPool('q', 'custom/v/big'), big());
      writeFileSync(inPool('q', 'containers/cq/rootfs/big'), big());
      await host.done('POST', '/1.0/containers/cq/backups', { name: 'b' });
      await host.done('POST', `${volumes('q')}/v/backups`, { name: 'b' });
      const get = async (path: string): Promise<Buffer> => (await call(host.daemon, 'GET', path)).bytes;
      saved = {
        container: await get('/1.0/containers/cq/backups/b/export'),
        volume: await get(`${volumes('q')}/v/backups/b/export`),
      };
      await host.done('POST', '/1.0/images', imageOf(big()), octets);
    }, 120_000);
    afterAll(() => host.close());

    const requests: Readonly<Record<string, () => Promise<Request>>> = {
      'a copy of a container from another pool': async () => [
        'POST',
        '/1.0/containers',
        { name: 'new', devices: root('p'), source: { type: 'copy', source: 'cq' } },
      ],
      'a copy of a volume from another pool': async () => [
        'POST',
        volumes('p'),
        { name: 'new', source: { type: 'copy', name: 'v', pool: 'q' } },
      ],
      'a refresh of a container': async () => [
        'POST',
        '/1.0/containers',
        { name: 'older', source: { type: 'copy', source: 'cq', refresh: true } },
      ],
      'a refresh of a volume': async () => [
        'POST',
        volumes('p'),
        { name: 'older', source: { type: 'copy', name: 'v', pool: 'q', refresh: true } },
      ],
      'a move of a volume': async () => ['POST', `${volumes('q')}/v`, { name: 'v2', pool: 'p' }],
      'a snapshot of a container': async () => ['POST', '/1.0/containers/cp/snapshots', { name: 'new' }],
      'a snapshot of a volume': async () => ['POST', `${volumes('p')}/v/snapshots`, { name: 'new' }],
      'a file that is pushed': async () => ['POST', '/1.0/containers/cp/files?path=/pushed', big(), octets],
      'an import of a container': async () => [
        'POST',
        '/1.0/containers',
        saved.container,
        { ...octets, 'x-svc-name': 'brought', 'x-svc-pool': 'p' },
      ],
      'an import of a volume': async () => ['POST', volumes('p'), saved.volume, { ...octets, 'x-svc-name': 'brought' }],
      'a container of an image': async () => {
        const [url = ''] = (await read(host.daemon, '/1.0/images')) as string[];
        return [
          'POST',
          '/1.0/containers',
          { name: 'fromimage', devices: root('p'), source: { type: 'image', fingerprint: url.split('/').at(-1) } },
        ];
      },
    };

    test.each(Object.keys(requests))('%s', async (name) => {
      const request = await (requests[name] ?? (() => Promise.reject(new Error(name))))();
      // btrfs frees what was deleted in the background, once it has committed the deletion.
      const freed = driver === 'btrfs' ? `btrfs filesystem sync ${place()}; btrfs subvolume sync ${place()}; ` : '';
      execFileSync('sh', [
        '-c',
        `${freed}cat /dev/zero > ${join(place(), 'filler')} 2>/dev/null || true; sync -f ${place()}`,
      ]);
      await until(() => readdirSync(inPool('p', 'tmp')).length === 0);
      const before = entriesOf(place(), join(host.dir, 'state'));
      const err = await host.errorOf(...request);
      await until(() => readdirSync(inPool('p', 'tmp')).length === 0);
      const isFree = driver === 'btrfs' && / snapshot /.test(name);
      if (!isFree) {
        expect(err).toMatch(/no space is left|there is room for|only .* free/i);
        expect(err).toMatch(/pool p|\/pushed|storage-pools\/p|\/disk/);
        expect(entriesOf(place(), join(host.dir, 'state'))).toEqual(before);
      }
      rmSync(join(place(), 'filler'));
      execFileSync('sync', ['-f', place()]);
      if (!isFree) await host.done(...request);
    });
  },
);

describe.skipIf(noLoops !== undefined)('a full disk of the state directory', () => {
  const host = new Host();
  let saved: Buffer;
  const at = (...rest: string[]): string => join(host.dir, ...rest);

  beforeAll(async () => {
    host.dir = await realpath(tempFolder('gantry-fulls-'));
    host.mount(at('state'), 96);
    mkdirSync(at('pool'));
    await host.start();
    await host.done('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir', config: { source: at('pool') } });
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    await host.done('PUT', '/1.0/profiles/default', { devices });
    await host.done('POST', '/1.0/containers', { name: 'c', source: { type: 'none' } });
    writeFileSync(at('pool/containers/c/rootfs/big'), big());
    await host.done('POST', '/1.0/storage-pools/p/volumes/custom', { name: 'v' });
    writeFileSync(at('pool/custom/v/big'), big());
    await host.done('POST', '/1.0/containers/c/backups', { name: 'first' });
    saved = (await call(host.daemon, 'GET', '/1.0/containers/c/backups/first/export')).bytes;
    await host.done('DELETE', '/1.0/containers/c/backups/first');
  }, 120_000);
  afterAll(() => host.close());

  const requests: Readonly<Record<string, () => Request>> = {
    'an import of an image': () => ['POST', '/1.0/images', imageOf(big()), octets],
    'a publish': () => ['POST', '/1.0/images', { source: { type: 'container', name: 'c' } }],
    'a publish without packing': () => [
      'POST',
      '/1.0/images',
      { compression_algorithm: 'none', properties: { a: 'b' }, source: { type: 'container', name: 'c' } },
    ],
    'a backup of a container': () => ['POST', '/1.0/containers/c/backups', { name: 'b' }],
    'a backup of a volume': () => ['POST', '/1.0/storage-pools/p/volumes/custom/v/backups', { name: 'b' }],
    'an import of a backup': () => ['POST', '/1.0/containers', saved, { ...octets, 'x-svc-name': 'brought' }],
  };

  test.each(Object.keys(requests))('%s', async (name) => {
    const request = (requests[name] as () => Request)();
    // Some megabytes stay, so that the daemon still takes requests.
    const { bavail, bsize } = statfsSync(at('state'));
    const free = bavail * bsize;
    execFileSync('fallocate', ['-l', String(free - 9 * mebi), at('state/filler')]);
    const before = entriesOf(at('state'), at('pool'));
    try {
      const err = await host.errorOf(...request);
      expect(err).toMatch(/no space is left|the disk of .* is full/);
      expect(err).toContain(at('state'));
      expect(entriesOf(at('state'), at('pool'))).toEqual(before);
    } finally {
      rmSync(at('state/filler'));
    }
    await host.done(...request);
  });
});
