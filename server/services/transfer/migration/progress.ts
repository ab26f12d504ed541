// Counts the bytes of a migration, reports progress to clients and enforces the pool's rate limit.
import { formatBytes, parseBytes } from '../../../api/text/byte-size.ts';
import type { Clock } from '../../../lib/clock.ts';
import { pause } from '../../../lib/shared/deadline.ts';

const everyMs = 1_000;

export interface Progress {
  /** The part that the next bytes belong to, such as `web1/daily0`. */
  begin(part: string): void;
  /** Resolves when the next bytes may be sent; undefined: at once. */
  add(bytes: number): Promise<void> | undefined;
  /** The part is complete: reports the last figure. */
  end(): void;
}

export interface ProgressDeps {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly onProgress: (metadata: Readonly<Record<string, unknown>>) => void;
  /** `rsync.bwlimit` of the pool in bytes per second; absent, empty or 0: no limit. */
  readonly limit?: string | undefined;
  readonly signal: AbortSignal;
}

/** Format of real servers: `fs_progress` is `web1: 12.34MB (5.60MB/s)`. */
export function trackProgress({ clock, onProgress, limit, signal }: ProgressDeps): Progress {
  const rate = parseBytes(limit ?? '') ?? 0;
  let part = '';
  let partBytes = 0;
  let partStartMs = clock.nowMs();
  let toldMs = Number.NEGATIVE_INFINITY;
  let dueMs = partStartMs;
  const say = (nowMs: number): void => {
    const seconds = Math.max(nowMs - partStartMs, 1) / 1000;
    onProgress({ fs_progress: `${part}: ${formatBytes(partBytes)} (${formatBytes(partBytes / seconds)}/s)` });
    toldMs = nowMs;
  };
  return {
    begin(next) {
      const nowMs = clock.nowMs();
      part = next;
      partBytes = 0;
      partStartMs = nowMs;
      say(nowMs);
    },
    end: () => say(clock.nowMs()),
    add(bytes) {
      const nowMs = clock.nowMs();
      partBytes += bytes;
      if (nowMs - toldMs >= everyMs) say(nowMs);
      if (rate === 0) return undefined;
      // Unused capacity does not accumulate.
      dueMs = Math.max(dueMs, nowMs - everyMs) + (bytes / rate) * 1000;
      return dueMs <= nowMs ? undefined : pause(dueMs - nowMs, signal).catch(() => {});
    },
  };
}
