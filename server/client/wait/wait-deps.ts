// Dependencies of waiting: a client, a clock, and a place for progress. Types only.
import type { Client } from '../client.ts';

/** The part of a client that waiting needs: small, so that a test can replace it. */
export interface WaitDeps {
  readonly client: Pick<Client, 'containerState' | 'exec' | 'events' | 'get' | 'http' | 'networkLeases'>;
  readonly nowMs: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** The condition and the state so far. */
  readonly onProgress: (text: string) => void;
}
