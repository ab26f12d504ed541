// Checks on an interval whether values in Vault have changed, so that a rotated secret is rolled out like a commit.
import { pause } from '../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export interface VaultWatchDeps {
  readonly intervalMs: number;
  readonly look: (signal: AbortSignal) => Promise<void>;
  /** Called once for each reason. */
  readonly onError: (message: string) => void;
}

/** Ends when `signal` fires; never rejects. */
export async function watchVault({ intervalMs, look, onError }: VaultWatchDeps, signal: AbortSignal): Promise<void> {
  let lastReason: string | undefined;
  for (;;) {
    // Sets do not all ask at the same time.
    await pause(intervalMs * (0.85 + 0.3 * Math.random()), signal).catch(() => undefined);
    if (signal.aborted) return;
    const why = await look(signal).then(
      () => undefined,
      (error: unknown) => reasonOf(error),
    );
    if (why !== undefined && why !== lastReason && !signal.aborted)
      onError(`it cannot be seen whether its secrets were rotated: ${why}`);
    lastReason = why;
  }
}
