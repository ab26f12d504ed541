// `gantry image export`: downloads the file or the two files of an image, checked against its fingerprint.
import type { Command, Run } from '../../session/context.ts';
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageExport } from '../../../../server/client/files/image-files.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { createFile } from '../../output/write-text.ts';
import { withClient } from '../../session/connect.ts';
import { download } from '../../output/download.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import { resolveImage } from './image-change.ts';

/** An image in two files: its metadata is FILE, its root file system FILE.root. */
export const exportImage: Run<HostOptions> = async (context, [name = '', target]) => {
  await withClient(context, async (client) => {
    const fingerprint = await resolveImage(client, name, context.stop);
    const image = await client.exportImage(fingerprint, context.stop);
    const isSplit = image.contentType.toLowerCase().startsWith('multipart/form-data');
    const file = target ?? ownName(image, fingerprint);
    try {
      if (file === '-' && isSplit) throw usageError(`${name} consists of two files: name a file to write them to`);
      const written = isSplit ? [file, `${file}.root`] : [file];
      const what = `The image ${name}`;
      const hash = createHash('sha256');
      const checked = async function* (chunks: AsyncIterable<Buffer>, isLast: boolean): AsyncGenerator<Buffer> {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
        const got = isLast ? hash.digest('hex') : fingerprint;
        if (got !== fingerprint)
          throw commandError(`${name} was damaged in transit: its fingerprint is ${got}, expected is ${fingerprint}`);
      };
      const save = (source: Readable, path: string): Promise<void> => {
        const body = Readable.from(checked(source, path === written.at(-1)));
        return download(
          context,
          what,
          body,
          path === '-' ? context.io.raw.stdout : (chunks) => createFile(path, chunks),
        );
      };
      if (isSplit) await saveParts(context, what, image, written, save);
      else await save(image.body, file);
      if (file !== '-') for (const path of written) context.out(path);
    } finally {
      image.body.on('error', () => {}).destroy();
    }
  });
};

/** The server's name for the file, as a safe local file name. */
function ownName({ filename }: ImageExport, fingerprint: string): string {
  const name = basename(filename ?? '');
  return name === '' || name === '.' || name === '..' ? `${fingerprint}.image` : name;
}

/** Saves the parts in order, since the fingerprint covers both in sequence. Removes the first one if the second fails. */
async function saveParts(
  context: Command,
  what: string,
  image: ImageExport,
  files: readonly string[],
  save: (source: Readable, path: string) => Promise<void>,
): Promise<void> {
  // The bundle has only the default export.
  const { Busboy } = (await import('@fastify/busboy')).default;
  const busboy = new Busboy({ headers: { 'content-type': image.contentType }, limits: { files: 3, fields: 0 } });
  const stop = new AbortController();
  let saved: Promise<void> = Promise.resolve();
  const parts: Readable[] = [];
  const made: string[] = [];
  busboy.on('file', (_field: string, part: Readable) => {
    part.on('error', () => {}); // a part that is not read yet may fail too
    const path = files[parts.push(part) - 1];
    if (path === undefined) {
      part.resume();
      return;
    }
    saved = saved.then(() => save(part, path)).then(() => void made.push(path));
    saved.catch((error: unknown) => stop.abort(error));
  });
  try {
    await pipeline(image.body, busboy, { signal: AbortSignal.any([context.stop, stop.signal]) });
    await saved;
    if (parts.length !== files.length) throw commandError(`The server sent an image of ${parts.length} parts`);
  } catch (error) {
    for (const part of parts) part.destroy();
    await saved.catch(() => undefined);
    for (const path of made) await rm(path, { force: true });
    if (context.stop.aborted) throw context.stop.reason;
    if (stop.signal.aborted) throw stop.signal.reason;
    throw error instanceof CliError ? error : commandError(`${what} was cut off: ${reasonOf(error)}`, error);
  }
}
