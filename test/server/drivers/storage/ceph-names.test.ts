// The ceph storage driver, as far as it needs no cluster: names of images, and what the tools of Ceph 16 printed on a Debian 12.
import { describe, expect, test } from 'vitest';
import { commands as fileSystemCommands } from '../../../../server/drivers/storage/blocks/commands.ts';
import {
  applicationsIn,
  imageIn,
  imagesIn,
  leftIn,
  snapshotsOf,
  usageIn,
  watchersIn,
} from '../../../../server/drivers/storage/ceph/commands.ts';
import { idOf, imageName, needsMark } from '../../../../server/drivers/storage/ceph/names.ts';
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
  'custom/' + '~'.repeat(64),
  `custom-snapshots/${'p'.repeat(64)}%${'x'.repeat(64)}/${'s'.repeat(64)}`,
  'custom/$(id)',
  'custom/a@b#c',
  'custom-snapshots/hash/-',
  'records',
];

describe('names of images', () => {
  test.each(ids)('%s is found again by its name and mark, and RBD can have them', (id) => {
    const name = imageName(id);
    expect(idOf(name, needsMark(id) ? ['custom/other', id] : [])).toBe(id);
    expect(name).toMatch(/^[a-z][A-Za-z0-9_.:%-]{1,89}$/);
  });

  test('names that people give are readable', () => {
    expect(imageName('containers/web-1')).toBe('containers:web-1');
    expect(imageName('containers-snapshots/web/monday')).toBe('containers-snapshots:web:monday');
    expect(imageName('custom/red%data')).toBe('custom:red%25data');
  });

  test('two volumes never have one name', () => {
    expectDistinctNames({
      letters: ['a', 'b', '-', '%', ':', '.', '2', '5', '@'],
      nameOf: imageName,
      idOf: (name) => idOf(name, []),
    });
  });

  test('images of others are none of ours', () => {
    for (const name of [
      'containers',
      'deleted:8b1f6f5e',
      'vm-100-disk-0',
      'lxd_default',
      'records:x',
      'custom:%zz',
      'csi:v',
    ])
      expect(idOf(name, [])).toBeUndefined();
  });
});

describe('what the tools print', () => {
  const listed = JSON.stringify([
    { image: 'a', id: '1011e5ce249a', size: 67108864, format: 2 },
    { image: 'a', id: '1011e5ce249a', snapshot: 's', snapshot_id: 4, size: 67108864, format: 2, protected: 'true' },
    {
      image: 'b',
      id: '1020918f1be0',
      size: 67108864,
      parent: { pool: 'p1', pool_namespace: '', image: 'a', snapshot: 's' },
      format: 2,
    },
  ]);

  test('images have their sizes, snapshots and parents', () => {
    const all = imagesIn(listed);
    expect(all.images).toEqual([
      { name: 'a', bytes: 67108864, parent: undefined },
      { name: 'b', bytes: 67108864, parent: 'a@s' },
    ]);
    expect(snapshotsOf(all, 'a')).toEqual([{ name: 'a@s', hasClones: true }]);
    expect(snapshotsOf(all, 'b')).toEqual([]);
    const info =
      '{"name":"b","id":"1020918f1be0","size":67108864,"objects":16,"order":22,"features":["layering"],"parent":{"pool":"p1","pool_namespace":"","image":"a","id":"1011e5ce249a","snapshot":"s","trash":false,"overlap":67108864}}';
    expect(imageIn(info)).toEqual({ name: 'b', bytes: 67108864, parent: 'a@s' });
  });

  test('clients that write, applications and the space of a pool are read', () => {
    expect(
      watchersIn('{"watchers":[{"address":"127.0.0.1:0/528639140","client":4219,"cookie":140240547307232}]}'),
    ).toEqual(['127.0.0.1:0/528639140']);
    expect(watchersIn('{"watchers":[]}')).toEqual([]);
    expect(applicationsIn('\n{"rbd":{}}')).toEqual(['rbd']);
    const df =
      '\n{"stats":{"total_bytes":8589934592},"pools":[{"name":"p1","id":1,"stats":{"stored":8,"objects":1,"kb_used":4,"bytes_used":4096,"percent_used":5.2e-07,"max_avail":7856137728}}]}';
    expect(usageIn(df, 'p1')).toEqual({ used: 8, total: 7856137736 });
    expect(usageIn(df, 'p2')).toBeUndefined();
  });

  test('a deleted volume goes when no clone needs it, and the snapshot of a copy that a crash cut short, but no snapshot of others', () => {
    const uuid = '8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00';
    const image = (name: string, parent?: string) => ({ name, bytes: 1, parent });
    const left = leftIn({
      images: [
        image('deleted:one'),
        image('deleted:two'),
        image('deleted:three'),
        image('containers:a', 'deleted:one@sealed'),
        image('containers:b', `containers:a@${uuid.replace('8', '9')}`),
        image('images:i'),
      ],
      snapshots: [
        'deleted:one@sealed',
        'deleted:two@sealed',
        `containers:a@${uuid}`,
        `containers:a@${uuid.replace('8', '9')}`,
        'containers:a@backup-monday',
        'images:i@sealed',
      ],
      closed: [],
    });
    expect(left).toEqual({ snapshots: ['deleted:two@sealed', `containers:a@${uuid}`], images: ['deleted:three'] });
  });

  test('a file system is at rest only while one program makes the snapshot of it', () => {
    const argv = fileSystemCommands.atRest('/pool/v', ['rbd', 'snap', 'create', 'p/v@s']);
    expect(argv.slice(4)).toEqual(['/pool/v', 'rbd', 'snap', 'create', 'p/v@s']);
    expect(argv[2]).toMatch(/--freeze .* timeout 60 "\$@"; .*--unfreeze/);
  });
});
