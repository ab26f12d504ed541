// The folders with the files of revisions of one source, complete or absent.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileError, hasCode } from '../../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

/** How long a checkout stays after somebody asked for it, since its manifests may be read still. */
const useMs = 600_000;

export class Checkouts {
  /** When each was asked for last, by name. */
  readonly #used = new Map<string, number>();
  readonly #folder: string;
  readonly #suffix: string;

  /** `facets`: settings that change what a checkout of the same revision holds, such as the path. */
  constructor(folder: string, facets: readonly string[]) {
    this.#folder = folder;
    this.#suffix = createHash('sha256').update(JSON.stringify(facets)).digest('hex').slice(0, 8);
  }

  /** The folder of a revision when it is complete. */
  async find(revision: string): Promise<string | undefined> {
    const dir = this.#dirOf(revision);
    // Before it is looked for: a deletion that begins now leaves it.
    this.#used.set(basename(dir), performance.now());
    const found = await stat(dir).catch(() => undefined);
    return found?.isDirectory() === true ? dir : undefined;
  }

  /** Fills a new folder and gives it its name only when `fill` succeeds. */
  async make(revision: string, fill: (dir: string) => Promise<void>): Promise<string> {
    const there = await this.find(revision);
    if (there !== undefined) return there;
    await makeFolder(this.#folder, 0o700);
    const draft = await mkdtemp(join(this.#folder, '.draft-'));
    try {
      await fill(draft);
      await rename(draft, this.#dirOf(revision));
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw this.#explained(error);
    }
    return this.#dirOf(revision);
  }

  /** For contents whose revision is only known after writing them. */
  async makeNamed(
    fill: (dir: string) => Promise<string>,
  ): Promise<{ readonly dir: string; readonly revision: string }> {
    await makeFolder(this.#folder, 0o700);
    const draft = await mkdtemp(join(this.#folder, '.draft-'));
    try {
      const revision = await fill(draft);
      const there = await this.find(revision);
      if (there === undefined) await rename(draft, this.#dirOf(revision));
      return { dir: this.#dirOf(revision), revision };
    } catch (error) {
      throw this.#explained(error);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  /** A full disk has no name in the error of a write; a file of the source that cannot be read is named there. */
  #explained(error: unknown): unknown {
    return hasCode(error, 'ENOENT', 'EACCES') ? error : fileError(`cannot write ${this.#folder}`, error);
  }

  /** Deletes all other checkouts that are not in use, and drafts of interrupted processes. None may be made meanwhile. */
  async keepOnly(revisions: ReadonlySet<string>): Promise<void> {
    const kept = new Set([...revisions].map((revision) => this.#nameOf(revision)));
    const names = await readdir(this.#folder).catch(() => []);
    for (const [name, atMs] of this.#used) if (performance.now() - atMs > useMs) this.#used.delete(name);
    for (const name of names) if (!kept.has(name) && !this.#used.has(name)) await this.#delete(name);
  }

  /** Takes its name away first: a checkout that has its name is whole. */
  async #delete(name: string): Promise<void> {
    const doomed = join(this.#folder, `.gone-${randomBytes(6).toString('hex')}`);
    await rename(join(this.#folder, name), doomed);
    await rm(doomed, { recursive: true, force: true });
  }

  readonly #nameOf = (revision: string): string => `${revision.replace(/[^0-9A-Za-z]/g, '-')}-${this.#suffix}`;
  readonly #dirOf = (revision: string): string => join(this.#folder, this.#nameOf(revision));
}
