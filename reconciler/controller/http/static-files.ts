// The files of the page, read once at start. Browsers may cache files with a hash in their name forever.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface PageFile {
  readonly type: string;
  readonly cacheControl: string;
  readonly etag: string;
  readonly bytes: Buffer;
  /** Absent: compression gains nothing. */
  readonly gzipped?: Buffer;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
};
const index = '/index.html';

export class PageFiles {
  readonly #files: ReadonlyMap<string, PageFile>;

  /** A missing directory has no files: the API works without the page. */
  static async read(directory: string | undefined): Promise<PageFiles> {
    if (directory === undefined) return new PageFiles(new Map());
    const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(ignoreMissing);
    const found = entries
      .filter((entry) => entry.isFile() && types[extname(entry.name)] !== undefined)
      .map((entry) => join(entry.parentPath, entry.name));
    const files = await Promise.all(
      found.map(async (path) => {
        const name = `/${relative(directory, path).split(sep).join('/')}`;
        return [name, await fileOf(name, await readFile(path))] as const;
      }),
    );
    return new PageFiles(new Map(files));
  }

  private constructor(files: ReadonlyMap<string, PageFile>) {
    this.#files = files;
  }

  /** Paths without an extension are views of the page and get the page itself. */
  find(path: string): PageFile | undefined {
    const isView = path === '/' || !/\.[^/]*$/.test(path);
    return this.#files.get(path) ?? (isView ? this.#files.get(index) : undefined);
  }
}

async function fileOf(name: string, bytes: Buffer): Promise<PageFile> {
  const type = types[extname(name)] ?? 'application/octet-stream';
  const isHashed = /^\/assets\/.*-[\w-]{8,}\.\w+$/.test(name);
  const small = await promisify(gzip)(bytes, { level: 9 });
  return {
    type,
    cacheControl: isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    bytes,
    ...(small.length < bytes.length * 0.9 ? { gzipped: small } : {}),
  };
}

function ignoreMissing(error: unknown): [] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
  throw error;
}
