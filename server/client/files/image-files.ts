// Uploads and downloads image files as streams; ordinary calls read and write image objects.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { multipartForm } from '../../lib/shared/multipart-form.ts';
import type { Operation } from '../../api/operation.ts';
import { header, type Headers, prefixedHeaders, type Reply } from '../transport/reply.ts';
import type { Http } from '../transport/http.ts';
import { counted, type OnSent } from './counted.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface ImageUpload {
  /** Paths: one unified tarball, or metadata and root file system separately; or a stream that another server exports. */
  readonly files:
    | { readonly file: string }
    | { readonly metadata: string; readonly rootfs: string }
    | { readonly exported: ImageExport };
  /** SHA-256 of the files; the server refuses the upload if it does not match. */
  readonly fingerprint?: string;
  readonly filename?: string;
  readonly public?: boolean;
  readonly properties?: Readonly<Record<string, string>>;
  readonly onProgress?: OnSent;
}

export interface ImageExport {
  readonly contentType: string;
  /** undefined if the server does not report it. */
  readonly sizeBytes?: number;
  readonly filename?: string;
  /** The file, or for a split image a multipart body with the parts metadata and rootfs. */
  readonly body: Readable;
}

/** Starts the upload; the reply carries the operation that unpacks it. */
export async function uploadImage(http: Http, upload: ImageUpload, signal?: AbortSignal): Promise<Reply<Operation>> {
  const body = await bodyOf(upload.files);
  const stream = counted(body.stream, body.sizeBytes, upload.onProgress);
  const plain = {
    ...withoutUndefined({ fingerprint: upload.fingerprint }),
    ...(upload.public === undefined ? {} : { public: String(upload.public) }),
    ...(upload.properties === undefined ? {} : { properties: new URLSearchParams(upload.properties).toString() }),
    ...filenameHeader(upload),
  };
  try {
    return await http.send<Operation>(
      {
        method: 'POST',
        path: '/1.0/images',
        stream,
        headers: {
          'content-type': body.contentType,
          ...(body.sizeBytes === undefined ? {} : { 'content-length': String(body.sizeBytes) }),
          ...prefixedHeaders(plain),
        },
      },
      signal,
    );
  } finally {
    stream.destroy();
    body.stream.destroy();
  }
}

/** The image file of `fingerprint`. The caller reads or destroys the body. */
export async function exportImage(http: Http, fingerprint: string, signal?: AbortSignal): Promise<ImageExport> {
  const path = `/1.0/images/${encodeURIComponent(fingerprint)}/export`;
  const reply = await http.open({ method: 'GET', path }, signal);
  const sizeBytes = Number(header(reply.headers, 'content-length') ?? NaN);
  const filename = filenameOf(reply.headers);
  return {
    contentType: header(reply.headers, 'content-type') ?? 'application/octet-stream',
    ...(Number.isSafeInteger(sizeBytes) ? { sizeBytes } : {}),
    ...withoutUndefined({ filename }),
    body: reply.body,
  };
}

const filenameOf = (headers: Headers): string | undefined =>
  /filename="?([^";]+)"?/.exec(header(headers, 'content-disposition') ?? '')?.[1];

/** Header values are ASCII; file names may not be. */
const encodeHeader = (text: string): string => text.replaceAll(/[^ -~]/g, '_');

function filenameHeader({ files, filename }: ImageUpload): { readonly filename?: string } {
  const own = 'file' in files ? basename(files.file) : 'exported' in files ? files.exported.filename : undefined;
  const name = 'metadata' in files ? undefined : (filename ?? own);
  return name === undefined ? {} : { filename: encodeHeader(name) };
}

/** Forwards an export unchanged: a split image has a body of two parts in both directions. */
async function bodyOf(files: ImageUpload['files']): Promise<Body> {
  if ('file' in files) return singleBody(files.file);
  if ('metadata' in files) return multipartBody(files);
  const { contentType, sizeBytes, body } = files.exported;
  return { contentType, ...withoutUndefined({ sizeBytes }), stream: body };
}

interface Body {
  readonly contentType: string;
  /** undefined: unknown. */
  readonly sizeBytes?: number;
  readonly stream: Readable;
}

async function singleBody(path: string): Promise<Body> {
  const { size } = await stat(path);
  return { contentType: 'application/octet-stream', sizeBytes: size, stream: createReadStream(path) };
}

async function multipartBody(files: { readonly metadata: string; readonly rootfs: string }): Promise<Body> {
  const parts = (['metadata', 'rootfs'] as const).map((field) => {
    const filename = encodeHeader(basename(files[field])).replaceAll('"', '_');
    return { field, filename, path: files[field] };
  });
  const form = multipartForm(parts);
  const sizes = await Promise.all(parts.map(async ({ path }) => (await stat(path)).size));
  const sizeBytes = sizes.reduce((sum, size) => sum + size, form.framingBytes);
  return { contentType: form.contentType, sizeBytes, stream: Readable.from(form.read(), { objectMode: false }) };
}
