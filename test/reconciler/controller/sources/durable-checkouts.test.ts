// Checkouts and power cuts: a folder that has its name holds whole files.
import { readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { Checkouts } from '../../../../reconciler/controller/sources/files/checkouts.ts';
import { defaultLimits } from '../../../../reconciler/controller/sources/files/limits.ts';
import { TreeWriter } from '../../../../reconciler/controller/sources/files/tree-writer.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

afterEach(() => vi.restoreAllMocks());

interface Prototype {
  sync: (this: { readonly fd: number }) => Promise<void>;
}

test('the files of a checkout and their names are on the disk before it gets its name', async () => {
  const folder = tempFolder('gantry-checkouts-');
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as Prototype;
  await handle.close();
  const { sync } = prototype;
  const synced: string[] = [];
  vi.spyOn(prototype, 'sync').mockImplementation(function (this: { readonly fd: number }) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  const checkouts = new Checkouts(folder, []);
  await checkouts.make('r1', async (dir) => {
    const writer = new TreeWriter(dir, 'source shop', defaultLimits);
    await writer.addFile('a.yaml', Buffer.from('kind: profile\nname: web\n'), false);
    await writer.addFile('sub/deep/b.yaml', Buffer.from('kind: profile\nname: db\n'), false);
    writer.addLink('link/c.yaml', '../a.yaml');
    await writer.finish();
  });
  // They still had the name of the draft.
  expect(synced.map((path) => path.replace(/^.*\/\.draft-[^/]+/, 'draft')).sort()).toEqual([
    'draft',
    'draft/a.yaml',
    'draft/link',
    'draft/sub',
    'draft/sub/deep',
    'draft/sub/deep/b.yaml',
  ]);
});
