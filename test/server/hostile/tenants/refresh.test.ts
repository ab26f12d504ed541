// A tenant is the source of a refresh: neither a container nor a volume of its project takes from it what a first copy would not take.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  changesOf,
  directory,
  file,
  gone,
  type Met,
  node,
  offerOf,
  refreshAs,
  sendTo,
  snapshotOf,
  volumeOffer,
  volumeSnapshot,
} from '../../../support/hostile/hostile-source.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';
import { tarOf, type TarPiece } from '../../../support/images/hostile.ts';
import { until } from '../../../support/until.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('skipped: device nodes need root');

const suite = useSharedHost('ref');
const { outside, fresh } = suite;
const own = '?project=mine';
const custom = '/1.0/storage-pools/default/volumes/custom';
const noNames = Buffer.alloc(0);

interface Kind {
  readonly kind: string;
  /** Where its files are in a stream. */
  readonly at: string;
  readonly path: string;
  readonly folder: string;
  readonly offer: (more?: object) => object;
  readonly snapshot: (name: string) => object;
  /** The directories that every stream begins with. */
  readonly above: readonly TarPiece[];
}
const kinds: readonly Kind[] = [
  {
    kind: 'volume',
    at: '.',
    path: custom,
    folder: 'custom',
    offer: volumeOffer,
    snapshot: volumeSnapshot,
    above: [directory('./')],
  },
  {
    kind: 'container',
    at: './rootfs',
    path: '/1.0/containers',
    folder: 'containers',
    offer: offerOf,
    snapshot: snapshotOf,
    above: [directory('./'), directory('./rootfs/')],
  },
];

describe.each(kinds)('the refresh of a $kind', ({ at, path, folder, offer, snapshot, above }) => {
  const whole = (...parts: readonly TarPiece[]): Buffer => tarOf(...above, ...parts);
  const changes = (...parts: readonly TarPiece[]): Buffer => changesOf(...above, ...parts);
  const dirOf = (name: string, ...rest: string[]): string =>
    join(suite.host.admin.dir, 'storage-pools/default', folder, `mine%${name}`, ...rest, at);
  const snapshotsIn = (name: string): string[] => {
    const dir = join(suite.host.admin.dir, 'storage-pools/default', `${folder}-snapshots`, `mine%${name}`);
    return existsSync(dir) ? readdirSync(dir) : [];
  };
  const temporary = (): string[] => readdirSync(join(suite.host.admin.dir, 'storage-pools/default/tmp'));
  const refresh = (name: string, streams: readonly Buffer[], more: object = {}): Promise<Met> =>
    refreshAs(suite, name, { path, offer: offer(more), streams });
  /** It has a file `old`. */
  const made = async (): Promise<string> => {
    const name = fresh();
    const sent = { path, offer: offer(), streams: [whole(file(`${at}/old`, 'as it was'))] };
    expect((await sendTo(suite, name, sent)).err).toBe('');
    return name;
  };
  const isAsBefore = async (name: string): Promise<void> => {
    expect([readdirSync(dirOf(name)), snapshotsIn(name)]).toEqual([['old'], []]);
    // Deleted files are unlinked after the answer.
    await until(() => temporary().length === 0);
    expect(readFileSync(join(dirOf(name), 'old'), 'utf8')).toBe('as it was');
    expect(readdirSync(outside)).toEqual(['folder', 'target']);
    expect(readFileSync(join(outside, 'target'), 'utf8')).toBe('as it was');
    expect(await suite.host.others()).toBe(suite.before);
  };
  beforeEach(() => {
    mkdirSync(join(outside, 'folder'), { recursive: true });
    writeFileSync(join(outside, 'target'), 'as it was');
  });

  test.each<[string, readonly TarPiece[]]>([
    ['through a link', [{ name: `${at}/link`, flag: '2', link: outside }, file(`${at}/link/evil`)]],
    ['by a name that climbs', [file(`${at}/../../../../evil`)]],
    ['by a name that climbs at its end', [file(`${at}/..`)]],
    ['by an absolute name', [file(join(outside, 'evil'))]],
    ['through a hard link', [{ name: `${at}/hard`, flag: '1', link: join(outside, 'target') }, file(`${at}/hard`)]],
    ['through a hard link that climbs', [{ name: `${at}/hard`, flag: '1', link: `${at}/../../../target` }]],
    ['twice under one name', [{ name: `${at}/a`, flag: '2', link: outside }, file(`${at}/a`)]],
    ['below a file', [file(`${at}/old/evil`)]],
  ])('writes nothing elsewhere %s', async (_what, parts) => {
    const name = await made();
    expect((await refresh(name, [changes(...parts), noNames])).err).toMatch(/cannot be right|is called/);
    await isAsBefore(name);
  });

  test('deletes nothing elsewhere by names of what is removed', async () => {
    const name = await made();
    const names = ['../../../target', outside, `${outside}/target`, '..', '', '.', `${at}/..`];
    const { err } = await refresh(name, [changes(), Buffer.from(names.map((one) => `\0${one}\0`).join(''))]);
    expect(err).toBe('');
    await isAsBefore(name);
  });

  test.runIf(isRoot)('takes no device nodes', async () => {
    const name = await made();
    const nodes = [
      { name: `${at}/sda`, flag: '4', change: node },
      { name: `${at}/mem`, flag: '3', change: node },
      { name: `${at}/deleted`, flag: '3', change: gone },
    ];
    expect((await refresh(name, [changes(...nodes), noNames])).err).toBe('');
    expect(readdirSync(dirOf(name))).toEqual(['deleted', 'old']);
    expect(lstatSync(join(dirOf(name), 'deleted')).rdev).toBe(0);
  });

  test.each(['../../theirs%victim', 'a/b', 'theirs%victim/snap', '..', ''])(
    'takes no snapshot that is called %j',
    async (bad) => {
      const name = await made();
      const met = await refresh(name, [changes(), noNames, changes(), noNames], { snapshots: [snapshot(bad)] });
      expect(met.err).toMatch(/Invalid snapshot name/);
      await isAsBefore(name);
    },
  );

  test('takes no two snapshots of one name', async () => {
    const name = await made();
    const met = await refresh(name, [], { snapshots: [snapshot('s'), snapshot('s')] });
    expect(met.err).toContain('two snapshots of one name');
    await isAsBefore(name);
  });

  test('takes no native streams', async () => {
    const name = await made();
    expect((await refresh(name, [], { formats: ['btrfs'] })).err).toMatch(/sends files as btrfs only/);
    await isAsBefore(name);
  });

  test('adds no snapshot of a part that failed', async () => {
    const name = await made();
    const streams = [changes(file(`${at}/new`)), noNames, changes(file(`${at}/..`)), noNames];
    expect((await refresh(name, streams, { snapshots: [snapshot('s')] })).err).toMatch(/is called/);
    await isAsBefore(name);
    expect((await refresh(name, [changes(file(`${at}/new`)), noNames])).err).toBe('');
    expect(readdirSync(dirOf(name))).toEqual(['new', 'old']);
  });
});

describe.each(['copy', 'refresh'])('a root file system that is no directory, in a %s of a container', (way) => {
  test.each<[string, readonly TarPiece[]]>([
    ['a link to a directory of the host', [{ name: './rootfs', flag: '2', link: outside }]],
    ['a file', [file('./rootfs')]],
    ['missing', []],
  ])('is refused: %s', async (_what, parts) => {
    const name = fresh();
    const first = tarOf(directory('./'), ...(way === 'copy' ? parts : [directory('./rootfs/'), file('./rootfs/old')]));
    const met = await sendTo(suite, name, { offer: offerOf(), streams: [first] });
    const refused = /rootfs is .*, and must be a directory/;
    if (way === 'copy') expect(met.err).toMatch(refused);
    const shown = await suite.host.tenant('GET', `/1.0/containers/${name}${own}`);
    expect(shown.status).toBe(way === 'copy' ? 404 : 200);
    if (way === 'copy') return;
    const streams = [changesOf(directory('./'), ...parts), Buffer.from('\0rootfs\0')];
    const snapshots = [snapshotOf('s')];
    for (const offer of [offerOf(), offerOf({ snapshots })])
      expect((await refreshAs(suite, name, { offer, streams })).err).toMatch(refused);
    const folder = join(suite.host.admin.dir, 'storage-pools/default/containers', `mine%${name}`);
    expect(readdirSync(join(folder, 'rootfs'))).toEqual(['old']);
    expect(existsSync(folder.replace('/containers/', '/containers-snapshots/'))).toBe(false);
  });
});
