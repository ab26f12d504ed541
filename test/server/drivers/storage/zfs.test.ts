// The zfs storage driver, as far as a kernel without ZFS shows it: names, and what the tools of Debian 12 printed. On real pools the suite of all
// drivers runs in booted machines (test/hosts).
import { describe, expect, test } from 'vitest';
import {
  commands,
  datasetsIn,
  leftSnapshots,
  namedIn,
  poolsIn,
  withoutClones,
} from '../../../../server/drivers/storage/zfs/commands.ts';
import {
  canBuildOn,
  headOf,
  looksIn,
  momentOf,
  streamCommands,
} from '../../../../server/drivers/storage/zfs/moments.ts';
import {
  datasetName,
  datasetProblem,
  idOf,
  idText,
  poolNameProblem,
} from '../../../../server/drivers/storage/zfs/names.ts';
import { expectDistinctNames } from '../../../support/drivers/volume-names.ts';

const ids = [
  'containers/web',
  'containers-snapshots/web-1/snap-0',
  'custom/red%data',
  'custom-snapshots/red%data/2026-11-26T10:00:00',
  `images/${'ab'.repeat(32)}`,
  'tmp/8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00',
  'replaced/container@web',
  'custom/-rf',
  'custom/p%..',
  'custom-snapshots/v/...',
  'custom/' + 'x'.repeat(64),
  'custom/' + '~'.repeat(64),
  `custom-snapshots/${'p'.repeat(64)}%${'x'.repeat(64)}/${'s'.repeat(64)}`,
  'custom/$(id)',
  'custom/a@b#c',
  'custom-snapshots/a/b::c',
  'custom-snapshots/hash/-',
];

describe('names of datasets', () => {
  test.each(ids)('%s is found again by its name and property, and ZFS can have them', (id) => {
    const name = datasetName(id);
    expect(idOf(name, idText(id) ?? '')).toBe(id);
    expect(name).toMatch(/^[a-z-]+\/[A-Za-z0-9_.:-]+$/);
    expect(name.split('/')[1]).not.toMatch(/^\.\.?$/);
    expect(`${'p'.repeat(80)}/${name}@8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00`.length).toBeLessThan(256);
  });

  test('names that people give are readable', () => {
    expect(datasetName('containers/web-1')).toBe('containers/web-1');
    expect(datasetName('containers-snapshots/web/monday')).toBe('containers-snapshots/web::monday');
    expect(datasetName('custom/red%data')).toBe('custom/red:25data');
  });

  test('two volumes never have one name', () => {
    expectDistinctNames({
      letters: ['a', 'b', '-', '%', ':', '.', '2', '5', '@'],
      nameOf: datasetName,
      idOf: (name, id) => idOf(name, idText(id) ?? ''),
    });
  });

  test('the property of a volume under a hash has the old name and the new one while it is renamed', () => {
    const [from, to] = ['a', 'b'].map((letter) => `custom/${letter.repeat(64)}%${letter.repeat(64)}`);
    if (from === undefined || to === undefined) throw new Error('no names');
    const text = idText(to, idText(from)) ?? '';
    expect([from, to].map((id) => idOf(datasetName(id), text))).toEqual([from, to]);
    expect(idOf(datasetName('custom/short'), text)).toBe('custom/short');
  });

  test('datasets of others are none of ours', () => {
    for (const name of ['containers', 'deleted/8b1f6f5e', 'tank', 'containers/a/b', 'virtual-machines/v', 'custom/:zz'])
      expect(idOf(name, '')).toBeUndefined();
  });

  test.each(['', '-rf', '@', '9tank', 'a b', 'a/b', 'mirror1', 'c0pool', 'log', 'tank\n', 'x'.repeat(81), 'tänk'])(
    'the name %j of a ZFS pool is refused',
    (name) => {
      expect(poolNameProblem(name)).toMatch(/^must /);
    },
  );

  test.each(['', '-rf', 'tank@x', 'tank/', '/tank', 'tank//a', 'tank/../other', 'tank/a b', 'tank/a#b', '$(id)'])(
    'the dataset %j is refused as a source',
    (name) => {
      expect(datasetProblem(name)).toMatch(/^must /);
      expect(datasetProblem('tank/lxd.1/a_b')).toBeUndefined();
    },
  );
});

describe('what the tools print', () => {
  test('datasets have their sizes, limits and properties', () => {
    const printed = [
      'tank\t1462272\t216641536\t24576\t0\t0\t0123456789abcdef\tyes\t-\t-\t-',
      'tank/containers/web\t5242880\t1048576\t6291456\t8388608\t0\t0123456789abcdef\tyes\tcustom/one custom/two\t-\t-',
      'tank/disk\t12288\t216641536\t12288\t-\t-\t-\t-\t-\t33554432\tyes',
    ];
    expect(datasetsIn(`${printed.join('\n')}\n`)).toEqual([
      expect.objectContaining({ name: 'tank', used: 1462272, available: 216641536, quota: 0, isMade: true, ids: '' }),
      expect.objectContaining({ quota: 8388608, referenced: 6291456, ids: 'custom/one custom/two' }),
      expect.objectContaining({ name: 'tank/disk', quota: 0, refquota: 0, pool: undefined, isMade: false }),
    ]);
    expect(datasetsIn(printed.join('\n')).map(({ volumeBytes, isResizing }) => [volumeBytes, isResizing])).toEqual([
      [undefined, false],
      [undefined, false],
      [33554432, true],
    ]);
    expect(datasetsIn('')).toEqual([]);
    expect(poolsIn('tank\tONLINE\nother\tDEGRADED\n').get('other')).toBe('DEGRADED');
  });

  test('a deleted volume goes when no clone needs it, and the snapshot of a copy that a crash cut short, but no snapshot of others', () => {
    const all = namedIn(
      [
        'tank/deleted\t-',
        'tank/deleted/one\t-',
        'tank/deleted/one@x\ttank/containers/a,tank/containers/b',
        'tank/deleted/two\t-',
        'tank/deleted/two@sealed\t-',
        'tank/containers/a@8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00\t-',
        'tank/containers/a@autosnap_2026-11-27_00:00:01_daily\t-',
        'tank/images/i@sealed\t-',
      ].join('\n'),
    );
    expect(withoutClones('tank/deleted', all)).toEqual(['tank/deleted/two']);
    expect(leftSnapshots(all)).toEqual(['tank/containers/a@8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00']);
  });

  test('nothing of a pool mounts itself, and a new pool never takes a device by force', () => {
    const argv = commands.makePool('tank', '/dev/sdb', 'tag');
    expect(argv).toEqual(expect.arrayContaining(['mountpoint=legacy', 'cachefile=none', 'gantry:pool=tag']));
    expect(argv).not.toContain('-f');
    expect(commands.importPool('tank')).not.toContain('-f');
  });

  test('a block volume reserves no space, and the host looks for no partitions on it', () => {
    const argv = commands.makeVolume('tank/custom/v', 33554432, { 'gantry:id': 'x' });
    expect(argv.slice(0, 6)).toEqual(['zfs', 'create', '-p', '-s', '-V', '33554432']);
    expect(argv.slice(6)).toEqual(['-o', 'volmode=dev', '-o', 'gantry:id=x', 'tank/custom/v']);
  });
});

describe('streams of zfs', () => {
  const looks = looksIn(
    [
      'tank/custom/v\t11\t20\t-\t-',
      'tank/custom/v@u1\t12\t21\t-\t-',
      'tank/custom/v@u2\t13\t31\t-\t-',
      'tank/custom-snapshots/v::one\t14\t22\ttank/custom/v@u1\tyes',
      'tank/custom-snapshots/v::one@sealed\t15\t23\t-\tyes',
      'tank/custom-snapshots/v::whole\t16\t24\t-\t-',
      'tank/custom-snapshots/v::whole@sealed\t17\t25\t-\t-',
      'tank/custom-snapshots/v::refreshed\t18\t26\ttank/custom-snapshots/v::one@sealed\t-',
      'tank/custom-snapshots/v::came\t19\t27\ttank/custom-snapshots/v::whole@sealed\t-',
      'tank/custom-snapshots/v::came@received\t20\t28\t-\t-',
      'tank/custom-snapshots/v::came@sealed\t21\t29\t-\t-',
      '',
    ].join('\n'),
  );
  const at = (name: string) => {
    const found = looks.find((each) => each.name === `tank/${name}`);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };

  test('a snapshot has the content of what it is a clone of, of what came, or of its own; one that was changed after it was cloned has none yet', () => {
    const moments = ['one', 'whole', 'refreshed', 'came'].map((name) =>
      momentOf(`tank/custom-snapshots/v::${name}`, looks),
    );
    expect(moments).toEqual([
      'tank/custom/v@u1',
      'tank/custom-snapshots/v::whole@sealed',
      undefined,
      'tank/custom-snapshots/v::came@received',
    ]);
  });

  test('a stream builds on an older snapshot of the same volume, or on what that is a clone of, and on nothing else', () => {
    const builds = (base: string, target: string): boolean => canBuildOn(at(base), at(target), looks);
    expect(builds('custom/v@u1', 'custom/v@u2')).toBe(true);
    expect(builds('custom/v@u2', 'custom/v@u1')).toBe(false);
    expect(builds('custom-snapshots/v::whole@sealed', 'custom-snapshots/v::came@received')).toBe(true);
    expect(builds('custom/v@u1', 'custom-snapshots/v::came@received')).toBe(false);
  });

  test('commands send one snapshot without properties, and receive it as a clone that is not mounted, never by force', () => {
    expect(streamCommands.send('tank/v@b', 'tank/v@a')).toEqual(['zfs', 'send', '-i', 'tank/v@a', 'tank/v@b']);
    expect(streamCommands.send('tank/v@b', undefined)).toEqual(['zfs', 'send', 'tank/v@b']);
    expect(streamCommands.receive('tank/tmp/x@received', 'tank/v@a')).toEqual([
      'zfs',
      'receive',
      '-u',
      '-o',
      'origin=tank/v@a',
      'tank/tmp/x@received',
    ]);
    expect(streamCommands.receive('tank/tmp/x@received', undefined)).not.toContain('-F');
  });

  const head = ({ kind = 1n, content = 2, base = 0n, isLittle = true } = {}): Buffer => {
    const bytes = Buffer.alloc(312);
    const long = (value: bigint, at_: number): unknown =>
      isLittle ? bytes.writeBigUInt64LE(value, at_) : bytes.writeBigUInt64BE(value, at_);
    for (const [value, offset] of [
      [0x2f5bacbacn, 8],
      [kind, 16],
      [99n, 40],
      [base, 48],
    ] as const)
      long(value, offset);
    if (isLittle) bytes.writeUInt32LE(content, 32);
    else bytes.writeUInt32BE(content, 32);
    return bytes;
  };

  test('the head of a stream says what it builds on, whatever machine wrote it', () => {
    expect(headOf(head())).toEqual({ base: undefined, isBlock: false });
    expect(headOf(head({ content: 3 }))).toEqual({ base: undefined, isBlock: true });
    for (const isLittle of [true, false])
      expect(headOf(head({ base: 12345678901234567890n, isLittle }))).toEqual({
        base: '12345678901234567890',
        isBlock: false,
      });
  });

  test('streams of several snapshots, and of other things than volumes, are refused before ZFS sees them', () => {
    expect(() => headOf(head({ kind: 2n }))).toThrow('several snapshots');
    expect(() => headOf(head({ content: 4 }))).toThrow('not that of a file system or a block volume');
    expect(() => headOf(Buffer.alloc(312))).toThrow('none of ZFS');
    expect(() => headOf(Buffer.from('nonsense'))).toThrow('too short');
  });
});
