// Finds and fetches images of simplestreams servers. Caches the parsed lists for an hour, and uses an old one if the server is down.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import { below } from './address.ts';
import { refusal, withConnection, type RemoteConnection, type ConnectionOptions } from './connection.ts';
import type { ImageTarget, ImageRequest, RemoteImage, RemoteServer } from './driver.ts';
import { checkFingerprint, meter, requireRoom, saveStream } from './save.ts';
import { findStreamImage, sortStreamImages, type StreamFile, type StreamImage } from './streams-index.ts';

const cacheMs = 3_600_000;
const maxCachedServers = 16;

export class Streams {
  readonly #cache = new Map<string, { readonly images: readonly StreamImage[]; readonly readAtMs: number }>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async find(
    options: ConnectionOptions,
    remote: RemoteServer,
    wanted: ImageRequest,
    signal: AbortSignal,
  ): Promise<RemoteImage> {
    const { server } = remote;
    const images = await this.#images(options, remote, wanted.fresh, signal);
    const found = findStreamImage(images, wanted, new URL(server).hostname);
    const name = wanted.alias === '' ? `fingerprint ${wanted.fingerprint}` : `alias ${wanted.alias}`;
    if (found === 'ambiguous') throw driverErrors.invalid(`several images on ${server} fit ${name}; give more of it`);
    if (found === undefined) {
      throw driverErrors.notFound(`there is no image with ${name} for ${wanted.architectures.join(', ')} on ${server}`);
    }
    return {
      fingerprint: found.fingerprint,
      filename: basename(found.rootfs?.path ?? found.metadata.path),
      properties: found.properties,
      aliases: found.aliases.map((alias) => ({ name: alias, description: '' })),
      expiresAt: found.expiresAt,
      fetch: (target, report, fetchSignal) =>
        withConnection(options, (connection) =>
          fetchFiles({ connection, limits: options.limits, server }, found, { target, report }, fetchSignal),
        ),
    };
  }

  async #images(
    options: ConnectionOptions,
    { server, certificate }: RemoteServer,
    isFresh: boolean,
    signal: AbortSignal,
  ): Promise<readonly StreamImage[]> {
    const key = `${server}\n${certificate}`;
    const kept = this.#cache.get(key);
    if (kept !== undefined && !isFresh && this.#nowMs() - kept.readAtMs < cacheMs) return kept.images;
    try {
      const images = await withConnection(options, (connection) => readLists(connection, options, server, signal));
      this.#cache.delete(key);
      this.#cache.set(key, { images, readAtMs: this.#nowMs() });
      const [oldest] = this.#cache.keys();
      if (this.#cache.size > maxCachedServers && oldest !== undefined) this.#cache.delete(oldest);
      return images;
    } catch (error) {
      signal.throwIfAborted();
      if (kept !== undefined && !isFresh) return kept.images;
      throw error;
    }
  }
}

async function readLists(
  connection: RemoteConnection,
  { limits }: ConnectionOptions,
  server: string,
  signal: AbortSignal,
): Promise<readonly StreamImage[]> {
  const index = below(server, 'streams/v1/index.json');
  const paths = await connection.parsed('stream index', index, limits.documentBytes, signal);
  const images: StreamImage[] = [];
  for (const path of paths as readonly string[]) {
    const found = await connection.parsed('stream products', below(server, path), limits.indexBytes, signal);
    for (const image of found as readonly StreamImage[]) images.push(image);
  }
  return sortStreamImages(images);
}

interface ConnectedServer extends Pick<ConnectionOptions, 'limits'> {
  readonly connection: RemoteConnection;
  readonly server: string;
}

interface Fetched {
  readonly target: ImageTarget;
  readonly report: (progress: string) => void;
}

async function fetchFiles(
  { connection, limits, server }: ConnectedServer,
  image: StreamImage,
  { target, report }: Fetched,
  signal: AbortSignal,
): Promise<{ readonly split: boolean }> {
  const files = [
    { label: 'metadata', file: image.metadata, path: target.metadataPath },
    ...(image.rootfs === undefined ? [] : [{ label: 'rootfs', file: image.rootfs, path: target.rootfsPath }]),
  ];
  await requireRoom(
    target.metadataPath,
    files.reduce((sum, { file }) => sum + (file.sizeBytes ?? 0), 0),
  );
  const combined = createHash('sha256');
  for (const { label, file, path } of files) {
    const own = createHash('sha256');
    const url = below(server, file.path);
    const answer = await connection.open('GET', url, {}, signal);
    if (answer.status !== 200) {
      answer.body.on('error', () => {}).destroy();
      throw refusal(url, answer.status, '');
    }
    const free = await requireRoom(path, 0);
    const measured = meter({
      take: target.take,
      what: `the ${label} of the image from ${server}`,
      expectedBytes: file.sizeBytes,
      maxBytes: file.sizeBytes ?? free,
      limits,
      report: (text) => report(`${label}: ${text}`),
    });
    const bytes = await saveStream(measured(answer.body), path, [own, combined], signal);
    checkFile(`the ${label} of the image from ${server}`, file, bytes, own.digest('hex'));
  }
  checkFingerprint(server, image.fingerprint, combined.digest('hex'));
  return { split: image.rootfs !== undefined };
}

function checkFile(what: string, file: StreamFile, bytes: number, sha256: string): void {
  if (file.sizeBytes !== undefined && bytes !== file.sizeBytes) {
    throw driverErrors.invalid(`${what} has ${bytes} bytes, expected are ${file.sizeBytes}`);
  }
  if (file.sha256 !== '' && sha256 !== file.sha256) {
    throw driverErrors.invalid(`${what} has SHA-256 ${sha256}, expected is ${file.sha256}`);
  }
}
