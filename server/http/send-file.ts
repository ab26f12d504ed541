// Answers with a file, or with the range of it that the client asks for, so that clients can resume a download.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { rangeOf } from './byte-range.ts';
import type { StreamReply } from './route.ts';

const highWaterMark = 256 * 1024;

export async function sendFile(
  path: string,
  { range: wanted }: Pick<IncomingHttpHeaders, 'range'>,
  filename = '',
): Promise<StreamReply> {
  const { size } = await stat(path);
  const range = rangeOf(wanted, size);
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': `inline;filename=${filename}`,
    'accept-ranges': 'bytes',
  };
  if (range === undefined)
    return {
      kind: 'stream',
      headers: { ...headers, 'content-length': String(size) },
      stream: createReadStream(path, { highWaterMark }),
    };
  const { first, last } = range;
  return {
    kind: 'stream',
    status: 206,
    headers: {
      ...headers,
      'content-length': String(last - first + 1),
      'content-range': `bytes ${first}-${last}/${size}`,
    },
    stream: createReadStream(path, { start: first, end: last, highWaterMark }),
  };
}
