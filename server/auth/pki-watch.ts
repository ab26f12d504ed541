// Keeps the certificate authority of the state directory current: reads its files at start, and again when they change.
import { unwatchFile, watchFile } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import { pkiFiles, readPki, type Pki } from './pki.ts';

export interface PkiWatchDeps {
  readonly dir: string;
  readonly server: { readonly certPem: string };
  readonly log: Log;
  readonly nowMs: () => number;
}

/** Poll interval for changed files. */
const everyMs = 2000;

export class PkiWatch {
  readonly #deps: PkiWatchDeps;
  readonly #files: readonly string[];
  readonly #changed = new Set<(before: Pki | undefined) => void>();
  #current: Pki | undefined;
  #reading: Promise<void> = Promise.resolve();

  private constructor(deps: PkiWatchDeps, current: Pki | undefined) {
    this.#deps = deps;
    this.#current = current;
    this.#files = Object.values(pkiFiles).map((name) => join(deps.dir, name));
  }

  /** Throws an Error that names a file that cannot be used. */
  static async open(deps: PkiWatchDeps): Promise<PkiWatch> {
    const current = await readPki(deps.dir, deps.server, new Date(deps.nowMs()));
    const watch = new PkiWatch(deps, current);
    watch.#announce();
    for (const file of watch.#files)
      watchFile(file, { interval: everyMs, persistent: false }, () => void watch.reread());
    return watch;
  }

  get current(): Pki | undefined {
    return this.#current;
  }

  /** Called after each change, with the previous state. */
  onChange(changed: (before: Pki | undefined) => void): void {
    this.#changed.add(changed);
  }

  /** Unusable or missing files keep the previous ones in force: a mistake must not open the server. */
  reread(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#reread());
    return this.#reading;
  }

  close(): void {
    for (const file of this.#files) unwatchFile(file);
  }

  async #reread(): Promise<void> {
    const { dir, server, log, nowMs } = this.#deps;
    const before = this.#current;
    try {
      const read = await readPki(dir, server, new Date(nowMs()));
      const isGone =
        before !== undefined && (read === undefined || (before.lists.length > 0 && read.lists.length === 0));
      if (isGone) {
        log.error(
          `${pkiFiles.authorities} or ${pkiFiles.lists} is gone: the former one stays in force until the daemon starts again`,
        );
        return;
      }
      this.#current = read;
    } catch (error) {
      const kept = before === undefined ? 'no authority is in force' : 'the former files stay in force';
      log.error(`${errorText(error)}; ${kept}`);
      return;
    }
    this.#announce();
    for (const changed of this.#changed) changed(before);
  }

  #announce(): void {
    const { log } = this.#deps;
    if (this.#current === undefined) return;
    const { authorities, lists, warnings } = this.#current;
    log.info(
      `Only client certificates of ${authorities.length} authorities in server.ca may connect over TLS; ${lists.length} revocation lists`,
    );
    for (const warning of warnings) log.warn(warning);
  }
}
