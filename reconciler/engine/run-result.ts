// The result of a run of steps.
import type { FetchedImages } from './bind-images.ts';
import type { Failure } from './steps/events.ts';

export interface RunResult {
  /** Ids of the finished steps. */
  readonly done: readonly string[];
  readonly failures: readonly Failure[];
  /** Ids of steps that never started. */
  readonly skipped: readonly string[];
  /** Fingerprints of images that were fetched, by the ids of their steps. */
  readonly made?: FetchedImages;
  readonly isInterrupted: boolean;
}
