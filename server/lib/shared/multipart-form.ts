// Writes a form of files, multipart/form-data.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface FormPart {
  readonly field: string;
  readonly filename: string;
  readonly path: string;
}

export interface MultipartForm {
  readonly contentType: string;
  /** The bytes beside those of the files. */
  readonly framingBytes: number;
  read(): AsyncGenerator<Buffer>;
}

export function multipartForm(parts: readonly FormPart[]): MultipartForm {
  const boundary = `gantry-${randomUUID()}`;
  const newline = Buffer.from('\r\n');
  const end = Buffer.from(`--${boundary}--\r\n`);
  const framed = parts.map(({ field, filename, path }) => {
    const disposition = `Content-Disposition: form-data; name="${field}"; filename="${filename}"`;
    const head = Buffer.from(`--${boundary}\r\n${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`);
    return { head, path };
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    framingBytes: framed.reduce((sum, { head }) => sum + head.length + newline.length, end.length),
    async *read() {
      for (const { head, path } of framed) {
        yield head;
        yield* createReadStream(path) as AsyncIterable<Buffer>;
        yield newline;
      }
      yield end;
    },
  };
}
