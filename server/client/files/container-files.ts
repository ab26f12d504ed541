// Files of a container: reads, writes and deletes them as streams, with the headers of either dialect. Walks no directories.
import { containerPath } from '../../api/names.ts';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ClientError } from '../client-error.ts';
import type { Http } from '../transport/http.ts';
import { header, parseReply, prefixedHeader, prefixedHeaders, type Headers, type Reply } from '../transport/reply.ts';

/** Absent = unchanged, or the server's default for a new entry. Ids as the container sees them. */
export interface FileAttributes {
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
}

export type FileEntry = Required<FileAttributes> &
  (
    | { readonly type: 'file'; readonly sizeBytes: number | undefined; readonly body: Readable }
    | { readonly type: 'directory'; readonly names: readonly string[] }
    | { readonly type: 'symlink'; readonly target: string }
  );

export interface FileWrite extends FileAttributes {
  /** Appends instead of replacing the content. */
  readonly append?: boolean;
  readonly sizeBytes?: number;
}

/** Paths are absolute in the container. A symbolic link at the end is read as a link, and written through. */
export interface Files {
  /** The caller reads or destroys the body of a file. */
  read(path: string, signal?: AbortSignal): Promise<FileEntry>;
  write(path: string, content: Readable, write?: FileWrite, signal?: AbortSignal): Promise<void>;
  /** Accepts an existing one. */
  makeDirectory(path: string, attributes?: FileAttributes, signal?: AbortSignal): Promise<void>;
  makeSymlink(path: string, target: string, attributes?: FileAttributes, signal?: AbortSignal): Promise<void>;
  delete(path: string, signal?: AbortSignal): Promise<void>;
}

export function filesOf(http: Http, container: string): Files {
  const url = `${containerPath(container)}/files`;
  const post = async (
    path: string,
    body: Readable | string,
    values: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
    sizeBytes?: number,
  ): Promise<void> => {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : sizeBytes;
    const headers = {
      'content-type': 'application/octet-stream',
      ...(length === undefined ? {} : { 'content-length': String(length) }),
      ...prefixedHeaders(values),
    };
    const stream = typeof body === 'string' ? Readable.from(body === '' ? [] : [Buffer.from(body)]) : body;
    await http.send({ method: 'POST', path: url, query: { path }, stream, headers }, signal);
  };
  return {
    async read(path, signal) {
      const reply = await http.open({ method: 'GET', path: url, query: { path } }, signal);
      return entryOf(reply, `GET ${url}`);
    },
    write: (path, content, write = {}, signal) =>
      post(
        path,
        content,
        { ...attributesOf(write), type: 'file', write: write.append === true ? 'append' : 'overwrite' },
        signal,
        write.sizeBytes,
      ),
    makeDirectory: (path, attributes = {}, signal) =>
      post(path, '', { ...attributesOf(attributes), type: 'directory' }, signal),
    makeSymlink: (path, target, attributes = {}, signal) =>
      post(path, target, { ...attributesOf(attributes), type: 'symlink' }, signal),
    delete: async (path, signal) => {
      await http.send({ method: 'DELETE', path: url, query: { path } }, signal);
    },
  };
}

async function entryOf(
  reply: { readonly status: number; readonly headers: Headers; readonly body: Readable },
  what: string,
): Promise<FileEntry> {
  const { headers, body } = reply;
  const number = (name: string, base: number): number => {
    const parsed = Number.parseInt(prefixedHeader(headers, name) ?? '', base);
    return Number.isNaN(parsed) ? 0 : parsed;
  };
  const attributes = { uid: number('uid', 10), gid: number('gid', 10), mode: number('mode', 8) };
  switch (prefixedHeader(headers, 'type') ?? '') {
    case 'directory': {
      const text = (await buffer(body)).toString('utf8');
      const { metadata }: Reply<unknown> = parseReply(reply.status, headers, text, what);
      const names = Array.isArray(metadata) ? metadata.map(String) : [];
      return { ...attributes, type: 'directory', names };
    }
    case 'symlink':
      // Older servers end the text with a newline.
      return { ...attributes, type: 'symlink', target: (await buffer(body)).toString('utf8').replace(/\n$/, '') };
    case 'file': {
      const size = Number(header(headers, 'content-length') ?? NaN);
      return { ...attributes, type: 'file', sizeBytes: Number.isSafeInteger(size) ? size : undefined, body };
    }
    default:
      body.once('error', () => undefined).destroy();
      throw new ClientError('badReply', `${what}: the answer does not say what kind of entry it is`);
  }
}

/** Servers parse a mode as octal only if it begins with a zero. */
function attributesOf({ uid, gid, mode }: FileAttributes): Record<string, string> {
  return {
    ...(uid === undefined ? {} : { uid: String(uid) }),
    ...(gid === undefined ? {} : { gid: String(gid) }),
    ...(mode === undefined ? {} : { mode: `0${mode.toString(8).padStart(3, '0')}` }),
  };
}
