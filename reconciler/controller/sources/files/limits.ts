// The limits of a source with their defaults.
import { durationMs } from '../../../../server/api/text/durations.ts';
import { type SourceError, sourceErrors } from '../source.ts';
import type { SourceLimits } from '../source-schema.ts';

export interface TreeLimits {
  readonly bytes: number;
  readonly files: number;
  readonly timeoutMs: number;
}

const mebi = 1024 * 1024;
export const defaultLimits: TreeLimits = { bytes: 256 * mebi, files: 20_000, timeoutMs: 120_000 };

export const limitsOf = (given: SourceLimits | undefined): TreeLimits => ({
  bytes: given?.size ?? defaultLimits.bytes,
  files: given?.files ?? defaultLimits.files,
  timeoutMs: durationMs(given?.timeout ?? '') ?? defaultLimits.timeoutMs,
});

/** Counts written bytes and files; throws as soon as a limit is passed. */
export class Budget {
  readonly #limits: TreeLimits;
  readonly #what: string;
  #bytes = 0;
  #files = 0;

  constructor(limits: TreeLimits, what: string) {
    this.#limits = limits;
    this.#what = what;
  }

  addFile(bytes: number): void {
    this.#files += 1;
    if (this.#files > this.#limits.files) {
      throw sourceErrors.limit(
        `${this.#what} holds more than ${this.#limits.files} files; raise limits.files, or narrow the source with path`,
      );
    }
    this.addBytes(bytes);
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.bytes) throw tooLarge(this.#what, this.#limits);
  }
}

export const tooLarge = (what: string, limits: TreeLimits): SourceError =>
  sourceErrors.limit(
    `${what} holds more than ${limits.bytes} bytes; raise limits.size, or narrow the source with path`,
  );
