// The lock of a move's state folder admits one process at a time and is released however that process ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockName, withFolder } from '../../../../reconciler/cli/output/folder-lock.ts';
import { cli } from '../../../support/cli/io.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

test('a second move with the folder is refused, even by another path, and an error releases the folder', async () => {
  const folder = join(tempFolder('glock-'), 'state');
  const link = `${folder}-link`;
  await withFolder(folder, async () => {
    symlinkSync(folder, link);
    const refused = await cli([
      'migrate-from-lxd',
      '-y',
      '--state-dir',
      link,
      '--lxd',
      'unix:///a',
      '--host',
      'unix:///b',
    ]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('another move uses the folder') });
    await expect(withFolder(`${folder}-other`, () => Promise.resolve('free'))).resolves.toBe('free');
  });
  await expect(withFolder(folder, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await expect(withFolder(link, () => Promise.resolve('free'))).resolves.toBe('free');
});

test('kill -9 frees the folder', async () => {
  const folder = realpathSync(tempFolder('glock-'));
  const script = `require('node:net').createServer().listen(${JSON.stringify(lockName(folder))}, () => console.log('held'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  await expect(withFolder(folder, () => Promise.resolve())).rejects.toThrow('another move uses');
  child.kill('SIGKILL');
  await once(child, 'close');
  await expect(withFolder(folder, () => Promise.resolve('free'))).resolves.toBe('free');
});
