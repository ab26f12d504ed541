// Receives an image upload (real system 14.1): one raw tarball, or multipart with metadata and rootfs, written to files.
import { createWriteStream } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { errors, AppError, checkName } from '../api/errors.ts';
import { isTrue } from '../api/text/value-checks.ts';
import { aliasName } from '../api/names.ts';
import { bodyOf } from './linger.ts';
import { uploadError } from './upload-error.ts';
import { maxJsonBytes, parseJson } from './request-body.ts';
import { errorText } from '../lib/shared/reason.ts';
import { uploadPath, type Upload } from '../services/images/add-image.ts';
import { counted, type Room } from '../services/shared/room.ts';
import { attempt } from '../lib/shared/attempt.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

interface ReceivedFiles {
  readonly metadataPath: string;
  readonly rootfsPath?: string;
  readonly filename?: string;
}

/** The file or files are complete when it resolves; on a throw none is left. `room`: throws if there are too many bytes. */
export async function receiveUpload(
  request: IncomingMessage,
  dir: string,
  headerPrefix: string,
  signal: AbortSignal,
  room: Room | undefined,
): Promise<Upload> {
  const { headers } = request;
  const header = (name: string): string | undefined => first(headers[`${headerPrefix}${name}`]);
  const aliases = aliasesOf(headers, headerPrefix);
  const isMultipart = (headers['content-type'] ?? '').toLowerCase().startsWith('multipart/form-data');
  if (!isMultipart) room?.(Number(headers['content-length'] ?? 0));
  const bound = bounded(room);
  const files = await (isMultipart ? receiveParts : receiveRaw)(request, dir, signal, bound);
  const fingerprint = header('fingerprint');
  return {
    metadataPath: files.metadataPath,
    ...withoutUndefined({ rootfsPath: files.rootfsPath }),
    filename: files.filename ?? header('filename') ?? '',
    public: isTrue(header('public')),
    properties: propertiesOf(headers, headerPrefix),
    ...(fingerprint === undefined ? {} : { fingerprint: fingerprint.toLowerCase() }),
    aliases,
  };
}

/** The JSON document that was sent without its content type, as curl does, instead of an image; its file is removed then. */
export async function documentIn({
  metadataPath,
  rootfsPath,
}: Pick<Upload, 'metadataPath' | 'rootfsPath'>): Promise<{ readonly value: unknown } | undefined> {
  if (rootfsPath !== undefined || (await stat(metadataPath)).size > maxJsonBytes) return undefined;
  const bytes = await readFile(metadataPath);
  if (!/^\s*\{/.test(bytes.toString('latin1', 0, 64))) return undefined;
  const document = jsonIn(bytes);
  if (document !== undefined) await rm(metadataPath, { force: true });
  return document;
}

const jsonIn = (bytes: Buffer): { readonly value: unknown } | undefined => attempt(() => ({ value: parseJson(bytes) }));

type Bound = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/** Counts the bytes of all parts together, and throws at the first surplus one. Undefined: no limit. */
function bounded(room: Room | undefined): Bound | undefined {
  if (room === undefined) return undefined;
  const take = counted(room);
  return async function* (chunks) {
    for await (const chunk of chunks) {
      take(chunk.length);
      yield chunk;
    }
  };
}

async function receiveRaw(
  request: IncomingMessage,
  dir: string,
  signal: AbortSignal,
  bound: Bound | undefined,
): Promise<ReceivedFiles> {
  const metadataPath = await uploadPath(dir);
  await store(bodyOf(request), metadataPath, signal, bound);
  return { metadataPath };
}

/** Exactly two parts, `metadata` first: their order matters for the fingerprint. */
async function receiveParts(
  request: IncomingMessage,
  dir: string,
  signal: AbortSignal,
  bound: Bound | undefined,
): Promise<ReceivedFiles> {
  const busboy = openBusboy(request);
  let malformed: Error | undefined;
  busboy.on('error', (error: Error) => {
    malformed = error;
  });
  const paths = { metadata: await uploadPath(dir), rootfs: await uploadPath(dir) };
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const seen: string[] = [];
  const stored: Promise<void>[] = [];
  let filename: string | undefined;
  let refused: AppError | undefined;
  try {
    busboy.on('file', (field: string, part: Readable, name: string) => {
      // A truncated part throws its own error, even if it is unread.
      part.on('error', () => {});
      seen.push(field);
      const expected = seen.length === 1 ? 'metadata' : 'rootfs';
      if (field !== expected || seen.length > 2) {
        part.resume();
        return;
      }
      if (field === 'rootfs') filename = name;
      const storing = store(part, paths[expected], either, bound);
      // If one part cannot be stored, the next is never read: the request would wait forever.
      storing.catch((error: unknown) => {
        if (!(error instanceof AppError)) return;
        refused ??= error;
        stop.abort();
      });
      stored.push(storing);
    });
    await pipeline(bodyOf(request), busboy, { signal: either });
    await Promise.all(stored);
    if (seen.join(' ') !== 'metadata rootfs') {
      throw errors.badRequest(
        `A split image needs the two parts metadata and rootfs in this order, got: ${seen.join(', ') || 'none'}`,
      );
    }
    return { metadataPath: paths.metadata, rootfsPath: paths.rootfs, ...withoutUndefined({ filename }) };
  } catch (error) {
    stop.abort();
    await Promise.allSettled(stored);
    await Promise.all([rm(paths.metadata, { force: true }), rm(paths.rootfs, { force: true })]);
    if (refused !== undefined) throw refused;
    throw malformed === undefined ? error : wrongParts(malformed);
  }
}

/** Few parts, small headers: the rest is read and discarded. */
const partLimits = { files: 3, parts: 4, headerPairs: 20, fieldNameSize: 100, headerSize: 16_384 };

function openBusboy(request: IncomingMessage): BusboyInstance {
  try {
    // A part may have neither file name nor type (real system: only its name counts).
    const isPartAFile = (): boolean => true;
    return new Busboy({ headers: request.headers as BusboyHeaders, limits: partLimits, isPartAFile });
  } catch (error) {
    throw wrongParts(error);
  }
}

function wrongParts(error: unknown): AppError {
  return errors.badRequest(
    `The parts of the image cannot be separated: ${errorText(error)}. Send the content type multipart/form-data with ` +
      'a boundary, and the parts metadata and rootfs, each of them whole',
  );
}

async function store(source: Readable, path: string, signal: AbortSignal, bound: Bound | undefined): Promise<void> {
  try {
    const file = createWriteStream(path, { mode: 0o600 });
    await (bound === undefined ? pipeline(source, file, { signal }) : pipeline(source, bound, file, { signal }));
  } catch (error) {
    await rm(path, { force: true });
    throw uploadError('image', path, error);
  }
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** URL-encoded query strings; the header may occur several times. */
function propertiesOf(headers: IncomingHttpHeaders, prefix: string): Record<string, string> {
  const value = headers[`${prefix}properties`];
  const texts = Array.isArray(value) ? value : (value ?? '').split(', ');
  return Object.fromEntries(texts.flatMap((text) => [...new URLSearchParams(text)]));
}

/** Extension image_create_aliases for uploads: `alias=name` pairs as a query string. */
function aliasesOf(headers: IncomingHttpHeaders, prefix: string): readonly { name: string; description: string }[] {
  const names = new Set(new URLSearchParams(first(headers[`${prefix}aliases`]) ?? '').getAll('alias'));
  for (const name of names) {
    checkName('image alias', name, aliasName);
  }
  return [...names].map((name) => ({ name, description: '' }));
}
