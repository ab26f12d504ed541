// `gantry image export`: downloads the file or the two files of an image, checked against its fingerprint.
import type { Command, Run } from '../../session/context.ts';
import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageExport } from '../../../../server/client/files/image-files.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { withClient } from '../../session/connect.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { localError } from '../../errors/local-error.ts';
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
      await cleanly(written, file === '-', async (made) => {
        const hash = createHash('sha256');
        if (isSplit) await saveParts(context, image, written, hash, made);
        else await save(context, image.body, file, hash, made);
        const got = hash.digest('hex');
        if (got !== fingerprint)
          throw commandError(`${name} was damaged in transit: its fingerprint is ${got}, expected is ${fingerprint}`);
      });
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

/** Never overwrites a file; removes the created files if `work` fails. */
async function cleanly(
  files: readonly string[],
  isStdout: boolean,
  work: (made: Set<string>) => Promise<void>,
): Promise<void> {
  const made = new Set<string>();
  try {
    await work(made);
  } catch (error) {
    if (!isStdout) for (const path of files) if (made.has(path)) await rm(path, { force: true });
    throw error;
  }
}

async function save(context: Command, source: Readable, path: string, hash: Hash, made: Set<string>): Promise<void> {
  const isStdout = path === '-';
  const target: Writable = isStdout
    ? context.io.raw.stdout
    : createWriteStream(path, { flags: 'wx' }).on('open', () => made.add(path));
  const hashed = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
  try {
    await pipeline(source, hashed, target, { end: !isStdout, signal: context.stop });
  } catch (error) {
    throw context.stop.aborted ? context.stop.reason : localError(`Cannot write ${path}`, error);
  }
}

/** Saves the parts in order, since the fingerprint covers both in sequence. */
async function saveParts(
  context: Command,
  image: ImageExport,
  files: readonly string[],
  hash: Hash,
  made: Set<string>,
): Promise<void> {
  // The bundle has only the default export.
  const { Busboy } = (await import('@fastify/busboy')).default;
  const busboy = new Busboy({ headers: { 'content-type': image.contentType }, limits: { files: 3, fields: 0 } });
  const stop = new AbortController();
  let saved: Promise<void> = Promise.resolve();
  let parts = 0;
  busboy.on('file', (_field: string, part: Readable) => {
    part.on('error', () => {}); // a part that is not read yet may fail too
    const path = files[parts];
    parts += 1;
    if (path === undefined) {
      part.resume();
      return;
    }
    saved = saved.then(() => save(context, part, path, hash, made));
    saved.catch((error: unknown) => stop.abort(error));
  });
  try {
    await pipeline(image.body, busboy, { signal: AbortSignal.any([context.stop, stop.signal]) });
    await saved;
  } catch (error) {
    if (context.stop.aborted) throw context.stop.reason;
    throw stop.signal.aborted ? stop.signal.reason : error;
  }
  if (parts !== files.length) throw commandError(`The server sent an image of ${parts} parts`);
}
