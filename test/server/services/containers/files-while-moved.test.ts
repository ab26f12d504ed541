// Files of a container that is being moved: a change that might stay with the original is refused, so that what was acknowledged arrives.
import { PassThrough } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import type { FileRoot } from '../../../../server/drivers/files/driver.ts';
import { writeFile } from '../../../../server/drivers/files/write.ts';
import type { StorageDriver } from '../../../../server/drivers/storage/driver.ts';
import { createContainer } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { until } from '../../../support/until.ts';

let open = (): void => {};
const gate = new Promise<void>((resolve) => (open = resolve));
let copied = 0;
/** Copies into another pool wait when they are complete. */
const slow = (driver: StorageDriver): StorageDriver => ({
  ...driver,
  async createVolume(...all) {
    await driver.createVolume(...all);
    if (all[0].name !== 'other') return;
    copied += 1;
    await gate;
  },
});

const daemon = await seededDaemon({
  adapt: (host) => ({ ...host, storage: { ...host.storage, dir: slow(host.storage['dir'] as StorageDriver) } }),
});
beforeAll(async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' });
  await createContainer(daemon, 'web');
});

test('a file cannot be written while its container is copied into another pool, but read, and afterwards also written', async () => {
  const at = (path: string): string => `/1.0/containers/web/files?path=${path}`;
  expect((await daemon.call('POST', at('/early'), 'one')).status).toBe(200);
  const moved = daemon.run('POST', '/1.0/containers/web', { name: 'web', pool: 'other' });
  await until(() => copied > 0);
  const late = await daemon.call('POST', at('/late'), 'two');
  expect([late.status, late.metadata.message]).toEqual([400, expect.stringContaining('the container is being moved')]);
  expect((await daemon.call('DELETE', at('/early'))).status).toBe(400);
  expect((await daemon.call('GET', at('/early'))).bytes.toString()).toBe('one');
  open();
  expect((await moved).err).toBe('');
  expect((await daemon.call('GET', at('/early'))).bytes.toString()).toBe('one');
  expect((await daemon.call('POST', at('/late'), 'two')).status).toBe(200);
  expect((await daemon.call('GET', at('/late'))).bytes.toString()).toBe('two');
});

test('a file that is complete only after the move has begun is refused', async () => {
  const path = tempFolder('gtya-moved-');
  let loss: string | undefined;
  const root: FileRoot = {
    path,
    label: 'container web',
    ids: { toHost: (_kind, id) => id, toGuest: (_kind, id) => id },
    isCurrent: () => true,
    lossOf: () => loss,
  };
  const content = new PassThrough();
  content.write('begin');
  const signal = new AbortController().signal;
  const written = writeFile(root, Buffer.from('/file'), content, { append: false }, signal);
  await until(() => content.readableLength === 0);
  loss = 'it is being moved';
  content.end('end');
  await expect(written).rejects.toMatchObject({ code: 'InUse' });
});
