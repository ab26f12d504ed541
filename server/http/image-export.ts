// The files of an image as one answer: a unified image unchanged, a split one as a multipart form. Access is checked elsewhere.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ImagePart } from '../services/images/image-store.ts';

export interface ImageExport {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: Readable;
}

export async function exportImage(parts: readonly ImagePart[]): Promise<ImageExport> {
  const [single] = parts;
  if (parts.length === 1 && single !== undefined) {
    const { size } = await stat(single.path);
    const headers = {
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'content-disposition': `inline;filename=${single.filename}`,
    };
    return { headers, stream: createReadStream(single.path) };
  }
  const boundary = `gantry-${randomUUID()}`;
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return { headers, stream: Readable.from(multipart(boundary, parts)) };
}

async function* multipart(boundary: string, parts: readonly ImagePart[]): AsyncGenerator<Buffer> {
  for (const { field, filename, path } of parts) {
    const disposition = `Content-Disposition: form-data; name="${field}"; filename="${filename}"`;
    yield Buffer.from(`--${boundary}\r\n${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`);
    yield* createReadStream(path) as AsyncIterable<Buffer>;
    yield Buffer.from('\r\n');
  }
  yield Buffer.from(`--${boundary}--\r\n`);
}
