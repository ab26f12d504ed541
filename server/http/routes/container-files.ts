// File endpoints of containers: headers and query to use cases, entries to answers.
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { errors } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import type { ContainerFiles, FileWrite } from '../../services/containers/files/files.ts';
import { readBytes } from '../request-body.ts';
import { bodyOf } from '../linger.ts';
import { doneAfter, type ContextOf, type RouteContext, type RouteReply, type RouteTable } from '../route.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

const maxTargetBytes = 4096;

export function containerFileRoutes(
  { containerFiles: files }: { readonly containerFiles: ContainerFiles },
  headerPrefix: string,
) {
  return {
    'containers.files.get': async (context) => {
      const path = pathOf(context);
      const entry = await files.read(context.params.name, path);
      const headers = {
        [`${headerPrefix}uid`]: String(entry.uid),
        [`${headerPrefix}gid`]: String(entry.gid),
        [`${headerPrefix}mode`]: entry.mode.toString(8).padStart(4, '0'),
        [`${headerPrefix}type`]: entry.type,
      };
      if (entry.type === 'directory') return { kind: 'sync', metadata: entry.names, headers };
      const file = { ...headers, ...fileHeaders(path), 'last-modified': entry.modified.toUTCString() };
      if (entry.type === 'symlink') return bytesReply(file, entry.target);
      return { kind: 'stream', headers: { ...file, 'content-length': String(entry.size) }, stream: entry.content };
    },
    'containers.files.post': (context) =>
      doneAfter(post(files, context, readHeaders(context.request.headers, headerPrefix))),
    'containers.files.delete': (context) => doneAfter(files.delete(context.params.name, pathOf(context))),
  } satisfies Partial<RouteTable>;
}

async function post(
  files: ContainerFiles,
  context: ContextOf<'containers.files.post'>,
  sent: SentEntry,
): Promise<void> {
  const name = context.params.name;
  const path = pathOf(context);
  if (sent.type === 'directory') await files.makeDirectory(name, path, sent);
  else if (sent.type === 'file') await files.write(name, path, bodyOf(context.request), sent, context.signal);
  else await files.makeSymlink(name, path, await readBytes(context.request, maxTargetBytes), sent);
}

function pathOf({ request }: Pick<RouteContext, 'request'>): Buffer {
  const path = queryBytes(request.url ?? '', 'path');
  if (path === undefined || path.length === 0) {
    throw errors.badRequest('The query parameter path is missing: which file is meant?', [
      { path: 'path', message: 'is required' },
    ]);
  }
  return path;
}

interface SentEntry extends FileWrite {
  readonly type: 'file' | 'directory' | 'symlink';
}

/** Throws badRequest with every invalid header. */
export function readHeaders(headers: IncomingHttpHeaders, prefix: string): SentEntry {
  const problems: Problem[] = [];
  const take = <T>(key: string, fallback: T, read: (text: string) => T | undefined, rule: string): T => {
    const text = String(headers[`${prefix}${key}`] ?? '').trim();
    if (text === '') return fallback;
    const value = read(text);
    if (value === undefined)
      problems.push({ path: `${prefix}${key}`, message: `must be ${rule}, is ${JSON.stringify(text)}` });
    return value ?? fallback;
  };
  const idRule = 'a number from 0 to 4294967294';
  const uid = take('uid', undefined, readId, idRule);
  const gid = take('gid', undefined, readId, idRule);
  const mode = take('mode', undefined, readMode, 'up to four octal digits such as 0644');
  const type = take('type', 'file', (text) => entryTypes.find((one) => one === text), entryTypes.join(', '));
  const write = take('write', 'overwrite', (text) => writes.find((one) => one === text), writes.join(' or '));
  if (problems.length > 0) throw errors.invalid('file headers', problems);
  return {
    type,
    append: write === 'append',
    ...withoutUndefined({ uid, gid, mode }),
  };
}

const entryTypes = ['file', 'directory', 'symlink'] as const;
const writes = ['overwrite', 'append'] as const;

function readId(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) < 0xffff_ffff ? Number(text) : undefined;
}

function readMode(text: string): number | undefined {
  return /^0?[0-7]{1,4}$/.test(text) ? Number.parseInt(text, 8) : undefined;
}

function fileHeaders(path: Buffer): Record<string, string> {
  const name = path.toString().split('/').filter(Boolean).at(-1) ?? '';
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': `inline;filename="${name.replaceAll(/[^ !#-[\]-~]/g, '_')}"`,
  };
}

export function bytesReply(headers: Readonly<Record<string, string>>, bytes: Buffer): RouteReply {
  const stream = Readable.from(bytes.length === 0 ? [] : [bytes]);
  return { kind: 'stream', headers: { ...headers, 'content-length': String(bytes.length) }, stream };
}

/** Reads one query parameter as bytes: file names may not be text in any encoding. */
const percent = 0x25;
const plus = 0x2b;

/** The first value of `name` in the query of a request's URL; undefined if absent. */
function queryBytes(url: string, name: string): Buffer | undefined {
  const at = url.indexOf('?');
  if (at < 0) return undefined;
  for (const pair of url.slice(at + 1).split('&')) {
    const equals = pair.indexOf('=');
    const key = equals < 0 ? pair : pair.slice(0, equals);
    if (key === name) return decode(equals < 0 ? '' : pair.slice(equals + 1), name);
  }
  return undefined;
}

/** Characters of a request's URL stand for one byte each. */
function decode(text: string, name: string): Buffer {
  const raw = Buffer.from(text, 'latin1');
  const bytes: number[] = [];
  for (let index = 0; index < raw.length; index++) {
    const byte = raw[index] ?? 0;
    if (byte === percent) {
      const digits = raw.toString('latin1', index + 1, index + 3);
      if (!/^[0-9a-fA-F]{2}$/.test(digits))
        throw errors.badRequest(`The query parameter ${name} has a % without two hex digits`);
      bytes.push(Number.parseInt(digits, 16));
      index += 2;
    } else bytes.push(byte === plus ? 0x20 : byte);
  }
  return Buffer.from(bytes);
}
