// The files of an image as one answer: a unified image unchanged, a split one as a multipart form. Access is checked elsewhere.
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { multipartForm } from '../lib/shared/multipart-form.ts';
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
  const form = multipartForm(parts);
  return { kind: 'stream', headers: { 'content-type': form.contentType }, stream: Readable.from(form.read()) };
}
