// Files on a server that keeps mode and owner of existing files: some are removed first, some changes are refused, some reads are repeated.
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { replacingFiles } from '../../provider/resources/container/replace-files.ts';
import { ClientError } from '../../server/client/client-error.ts';
import type { FileEntry, Files } from '../../server/client/files/container-files.ts';

/** A server with one file of mode 0644 and one directory of mode 0755; `done` lists its requests. */
function server(failures = 0): { readonly files: Files; readonly done: string[] } {
  const done: string[] = [];
  let left = failures;
  const entries: Readonly<Record<string, () => FileEntry>> = {
    '/secret': () => ({ type: 'file', mode: 0o100644, uid: 0, gid: 0, sizeBytes: 1, body: Readable.from(['x']) }),
    '/data': () => ({ type: 'directory', mode: 0o755, uid: 0, gid: 0, names: [] }),
  };
  const files: Files = {
    async read(path) {
      if (left > 0) {
        left -= 1;
        throw new ClientError('internal', 'read unix @->/proc/self/fd/35/forkfile.sock: connection reset by peer');
      }
      const entry = entries[path];
      if (entry === undefined) throw new ClientError('notFound', 'none', { status: 404 });
      return entry();
    },
    write: async (path) => void done.push(`write ${path}`),
    makeDirectory: async (path) => void done.push(`directory ${path}`),
    makeSymlink: async (path) => void done.push(`symlink ${path}`),
    delete: async (path) => void done.push(`delete ${path}`),
  };
  return { files: replacingFiles(files, 'web'), done };
}
const content = (): Readable => Readable.from(['x']);

describe('files on a server that keeps modes', () => {
  test('A file is removed before it is written with another mode or owner, and not otherwise', async () => {
    const { files, done } = server();
    await files.write('/secret', content(), { mode: 0o644, uid: 0, gid: 0 });
    await files.write('/new', content(), { mode: 0o600 });
    expect(done).toEqual(['write /secret', 'write /new']);
    await files.write('/secret', content(), { mode: 0o600, uid: 0, gid: 0 });
    await files.write('/secret', content(), { mode: 0o644, uid: 5 });
    expect(done.slice(2)).toEqual(['delete /secret', 'write /secret', 'delete /secret', 'write /secret']);
  });

  test('A directory is created, left as it is, or refused with its mode and owner', async () => {
    const { files, done } = server();
    await files.makeDirectory('/data', { mode: 0o755 });
    await files.makeDirectory('/more', { mode: 0o755 });
    expect(done).toEqual(['directory /more']);
    const refused = files.makeDirectory('/data', { mode: 0o700 });
    await expect(refused).rejects.toThrow('The directory /data of web was not changed');
    expect(done).toEqual(['directory /more']);
  });

  test('A file is read again when the connection to the file helper breaks, a limited number of times', async () => {
    expect(await server(3).files.read('/data')).toMatchObject({ type: 'directory' });
    await expect(server(9).files.read('/data')).rejects.toThrow('forkfile');
  });
});
