// Looks for newer images of a set on an interval, and pushes its gantry.lock to the source: as a commit on its branch, or on another one.
import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Client } from '../../../server/client/client.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { findPins, followedBy } from '../../engine/find-pins.ts';
import { pinsText, type Pins } from '../../manifest/image-pins.ts';
import type { ImageAutomation, SetConfig } from '../config/config.ts';
import { short } from '../decide/short-revision.ts';
import { SourceError, type Source } from '../sources/source.ts';
import { imageCommit } from '../decide/image-commit.ts';
import type { LoadedRevision, LoadedSet } from './load-revision.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface ImageUpdatesDeps {
  readonly config: SetConfig;
  readonly images: ImageAutomation;
  readonly source: Source;
  /** The newest revision of the source. */
  readonly revision: () => string | undefined;
  readonly load: (revision: string, signal: AbortSignal) => Promise<LoadedRevision>;
  /** The connection to a host; undefined while it is away. */
  readonly client: (host: string) => Client | undefined;
  /** Why nothing may be pushed now: another controller is active, the set is suspended or held at a revision. */
  readonly restraint: () => string | undefined;
  readonly onPushed: () => void;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
  readonly nowMs: () => number;
}

export class ImageUpdates {
  readonly #deps: ImageUpdatesDeps;
  #logged: string | undefined;

  constructor(deps: ImageUpdatesDeps) {
    this.#deps = deps;
  }

  /** Ends when `signal` fires; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#deps.images.intervalMs, signal).catch(() => undefined);
      if (!signal.aborted) await this.look(signal);
    }
  }

  /** Looks once. The same failure is logged only once. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      await this.#update(signal);
      this.#logged = undefined;
    } catch (error) {
      if (signal.aborted) return;
      const text = reasonOf(error);
      if (text !== this.#logged) this.#deps.log(isPassing(error) ? 'warn' : 'error', `images are not updated: ${text}`);
      this.#logged = text;
    }
  }

  async #update(signal: AbortSignal): Promise<void> {
    const { config, images, source, revision, load, restraint, log, onPushed } = this.#deps;
    const base = revision();
    if (base === undefined || source.push === undefined || restraint() !== undefined) return;
    const loaded = await load(base, signal);
    // The set itself shows its problems.
    if (loaded.problems.length > 0) return;
    const before = [...loaded.hosts.values()][0]?.pins ?? new Map<string, string>();
    const found = await this.#find(loaded, signal);
    const changed = [...found].filter(([key, fingerprint]) => before.get(key) !== fingerprint);
    if (changed.length === 0) return;
    // A person may have suspended the set while images were fetched.
    if (restraint() !== undefined) return;
    const file = await lockFile((await source.checkout(base, signal)).dir, config.path);
    // Sets may share the file: pins of other sets stay.
    const after: Pins = new Map([...before, ...found]);
    const change = {
      base,
      files: { [file]: pinsText(after) },
      message: imageCommit(config.name, images.message, before, changed),
      author: images.author,
      ...withoutUndefined({ branch: images.branch }),
    };
    const pushed = await source.push(change, signal);
    const names = changed.map(([key, fingerprint]) => `${key} ${fingerprint.slice(0, 12)}`).join(', ');
    const where = images.branch === undefined ? '' : ` to ${images.branch}`;
    if (pushed.revision !== this.#last)
      log('info', `newer images, pushed${where} as ${short(pushed.revision)}: ${names}`);
    this.#last = pushed.revision;
    onPushed();
  }

  #last: string | undefined;

  /** Each set of documents is looked at on the first host that has it and answers; where hosts differ, the first one counts. */
  async #find(loaded: LoadedRevision, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const seen = new Set<LoadedSet>();
    let away: string | undefined;
    for (const [host, set] of loaded.hosts) {
      if (seen.has(set)) continue;
      const followed = followedBy(set.loaded.documents);
      if (followed.aliases.size + followed.sources.size === 0) continue;
      const client = this.#deps.client(host);
      if (client === undefined) {
        away = host;
        continue;
      }
      seen.add(set);
      const { nowMs } = this.#deps;
      const pins = await findPins({ client, signal, nowMs, onProgress: () => {} }, followed);
      for (const [key, fingerprint] of pins) if (!found.has(key)) found.set(key, fingerprint);
    }
    if (found.size === 0 && away !== undefined) throw new Error(`${away} cannot be reached`);
    return found;
  }
}

/** Somebody else pushed, or the source does not answer: the next look tries again. */
const isPassing = (error: unknown): boolean =>
  error instanceof SourceError && (error.problem === 'conflict' || error.problem === 'unreachable');

/** Where the set reads its pins, relative to the source. */
async function lockFile(folder: string, path: string): Promise<string> {
  const isFolder = (await stat(join(folder, path))).isDirectory();
  return posix.normalize(posix.join(isFolder ? path : posix.dirname(path), 'gantry.lock'));
}
