// The files of an image as one answer: a unified image unchanged, a split one as a multipart form. Access is checked elsewhere.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { ImagePart } from '../services/images/image-store.ts';
import type { StreamReply } from './route.ts';
import { sendFile } from './send-file.ts';

/** Only a unified image is sent in part: the form of a split one has another boundary each time. */
export async function exportImage(
  parts: readonly ImagePart[],
  asked: Pick<IncomingHttpHeaders, 'range'>,
): Promise<StreamReply> {
  const [single] = parts;
  if (parts.length === 1 && single !== undefined) return sendFile(single.path, asked, single.filename);
  const boundary = `gantry-${randomUUID()}`;
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return { kind: 'stream', headers, stream: Readable.from(multipart(boundary, parts)) };
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
