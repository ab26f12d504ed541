// Fetches the image at an address: the answer to HEAD names the file and its fingerprint in headers.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import { redirectTarget, shown } from './address.ts';
import {
  refusal,
  single,
  withConnection,
  type Answer,
  type RemoteConnection,
  type ConnectionOptions,
} from './connection.ts';
import type { ImageTarget, ImageRequest, RemoteImage, RemoteServer } from './driver.ts';
import { isFingerprint, sizeOf } from './read-values.ts';
import { checkFingerprint, meter, requireRoom, saveStream } from './save.ts';

/** The request describes its sender in headers of both dialects, and accepts either in the answer. */
const prefixes = ['LXD', 'SVC'] as const;

export function findDirect(
  options: ConnectionOptions & { readonly version: string },
  { server }: RemoteServer,
  { architectures }: ImageRequest,
  signal: AbortSignal,
): Promise<RemoteImage> {
  return withConnection(options, async (connection) => {
    const headers = Object.fromEntries(
      prefixes.flatMap((prefix) => [
        [`${prefix}-Server-Architectures`, architectures.join(', ')],
        [`${prefix}-Server-Version`, options.version],
      ]),
    );
    const answer = await connection.open('HEAD', new URL(server), headers, signal);
    answer.body.on('error', () => {}).destroy();
    if (answer.status !== 200) throw refusal(answer.url, answer.status, '');
    const fingerprint = (named(answer, 'image-hash') ?? '').toLowerCase();
    const location = named(answer, 'image-url');
    if (!isFingerprint(fingerprint) || location === undefined) {
      const text = `${shown(answer.url)} stands for no image: its answer needs the headers LXD-Image-Hash (SHA-256 in hex) and LXD-Image-URL`;
      throw driverErrors.invalid(text);
    }
    const url = redirectTarget(answer.url, location);
    return {
      fingerprint,
      filename: basename(url.pathname),
      properties: undefined,
      aliases: [],
      expiresAt: undefined,
      fetch: (target, report, fetchSignal) =>
        withConnection(options, (own) => fetchFile(own, options, { url, fingerprint, target, report }, fetchSignal)),
    };
  });
}

const named = (answer: Answer, name: string): string | undefined =>
  prefixes
    .map((prefix) => single(answer.headers[`${prefix.toLowerCase()}-${name}`]))
    .find((value) => value !== undefined);

interface WantedFile {
  readonly url: URL;
  readonly fingerprint: string;
  readonly target: ImageTarget;
  readonly report: (progress: string) => void;
}

async function fetchFile(
  connection: RemoteConnection,
  { limits }: ConnectionOptions,
  { url, fingerprint, target, report }: WantedFile,
  signal: AbortSignal,
): Promise<{ readonly split: boolean }> {
  const answer = await connection.open('GET', url, {}, signal);
  try {
    if (answer.status !== 200) throw refusal(url, answer.status, '');
    const sizeBytes = sizeOf(Number(single(answer.headers['content-length'])));
    const free = await requireRoom(target.metadataPath, sizeBytes ?? 0);
    const measured = meter({
      take: target.take,
      what: `the image from ${shown(url)}`,
      expectedBytes: sizeBytes,
      maxBytes: sizeBytes ?? free,
      limits,
      report,
    });
    const hash = createHash('sha256');
    await saveStream(measured(answer.body), target.metadataPath, [hash], signal);
    checkFingerprint(shown(url), fingerprint, hash.digest('hex'));
    return { split: false };
  } finally {
    answer.body.on('error', () => {}).destroy();
  }
}
