// The input and output of a fault suite: rounds of faults against the bundled programs, and their losses and leftovers.
import type { Random } from '../support/random.ts';

export interface FaultContext {
  /** Number of faults to cause. */
  readonly rounds: number;
  /** Only the faults whose name contains each of these words; absent: all of them. */
  readonly only?: string;
  readonly random: Random;
  /** The bundled daemon, a file that Node runs. */
  readonly gantryd: string;
  /** Reports progress to the terminal. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** One row of the report. A suite fails on any loss or leftover. */
export interface Figures {
  /** The written objects or actions, such as `images`. */
  readonly what: string;
  readonly rounds: number;
  /** Changes that the daemon (or program) had acknowledged before the faults. */
  readonly acknowledged: number;
  /** One line for each acknowledged change that was missing or damaged afterwards. */
  readonly lost: readonly string[];
  /** One line for each file, process, mount or record that no object owns afterwards. */
  readonly orphans: readonly string[];
  /** The longest time of each round without an acknowledged change, in ms, from the fault on. */
  readonly stallsMs?: readonly number[];
}

export interface FaultSuite {
  /** One sentence for the help text. */
  readonly doc: string;
  /** Rounds of a long run, unless --rounds is given. */
  readonly rounds: number;
  /** The reason why this host cannot run it; undefined when it can. */
  readonly missing: () => Promise<string | undefined>;
  readonly run: (context: FaultContext) => Promise<readonly Figures[]>;
}
