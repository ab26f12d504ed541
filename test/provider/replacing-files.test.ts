// Files on a server that keeps mode and owner of existing files: some are removed first, some changes are refused, some reads are repeated.
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeFileSpec } from '../../provider/resources/container/container-files.ts';
import { replacingFiles } from '../../provider/resources/container/replace-files.ts';
import { ClientError } from '../../server/client/client-error.ts';
import type { FileEntry, Files } from '../../server/client/files/container-files.ts';

/** A server with one file of mode 0644 and one directory of mode 0755; `done` lists its requests. */
function server(failures = 0): { readonly files: Files; readonly done: string[] } {
  const done: string[] = [];
  let left = failures;
  const breakOff = (): void => {
    if (left === 0) return;
    left -= 1;
    throw new ClientError('internal', 'read unix @->/proc/self/fd/35/forkfile.sock: connection reset by peer');
  };
  const entries: Readonly<Record<string, () => FileEntry>> = {
    '/secret': () => ({ type: 'file', mode: 0o100644, uid: 0, gid: 0, sizeBytes: 1, body: Readable.from(['x']) }),
    '/data': () => ({ type: 'directory', mode: 0o755, uid: 0, gid: 0, names: [] }),
  };
  const files: Files = {
    async read(path) {
      if (!path.startsWith('/new')) breakOff();
      const entry = entries[path];
      if (entry === undefined) throw new ClientError('notFound', 'none', { status: 404 });
      return entry();
    },
    async write(path, body) {
      const sent = await text(body);
      breakOff();
      done.push(`write ${path}: ${sent}`);
    },
    async makeDirectory(path) {
      breakOff();
      done.push(`directory ${path}`);
    },
    async makeSymlink(path) {
      breakOff();
      done.push(`symlink ${path}`);
    },
    delete: async (path) => void done.push(`delete ${path}`),
  };
  return { files: replacingFiles(files, 'web'), done };
}
const content = (): Readable => Readable.from(['x']);

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** The result, with all pauses skipped. */
async function waited<T>(running: Promise<T>): Promise<T> {
  running.catch(() => undefined);
  for (let pause = 0; pause < 10; pause += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(2000);
  }
  return running;
}

describe('files on a server that keeps modes', () => {
  test('A file is removed before it is written with another mode or owner, and not otherwise', async () => {
    const { files, done } = server();
    await files.write('/secret', content(), { mode: 0o644, uid: 0, gid: 0 });
    await files.write('/new', content(), { mode: 0o600 });
    expect(done).toEqual(['write /secret: x', 'write /new: x']);
    await files.write('/secret', content(), { mode: 0o600, uid: 0, gid: 0 });
    await files.write('/secret', content(), { mode: 0o644, uid: 5 });
    expect(done.slice(2)).toEqual(['delete /secret', 'write /secret: x', 'delete /secret', 'write /secret: x']);
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
    expect(await waited(server(3).files.read('/data'))).toMatchObject({ type: 'directory' });
    await expect(waited(server(9).files.read('/data'))).rejects.toThrow('forkfile');
  });

  test('A file, a directory or a link is written again as a whole when that connection breaks', async () => {
    const { signal } = new AbortController();
    const spec = { content: 'all of it', source: null, mode: '0644', uid: 0, gid: 0 };
    const written = server(3);
    await waited(writeFileSpec(written.files, '/new', spec, signal));
    expect(written.done).toEqual(['write /new: all of it']);
    const [directory, link] = [server(3), server(3)];
    await waited(directory.files.makeDirectory('/new', {}));
    await waited(link.files.makeSymlink('/new', '/target'));
    expect([directory.done, link.done]).toEqual([['directory /new'], ['symlink /new']]);
  });
});
