// What a fault suite is given and gives back: rounds of faults against the bundled programs, and what was lost or left behind.
import type { Random } from '../support/random.ts';

export interface FaultContext {
  /** How many faults to cause. */
  readonly rounds: number;
  readonly random: Random;
  /** The bundled daemon, a file that Node runs. */
  readonly gantryd: string;
  /** Progress, for whoever watches. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** One row of the report. A suite fails when anything was lost or left behind. */
export interface Figures {
  /** What was written or done, such as `images`. */
  readonly what: string;
  readonly rounds: number;
  /** Changes that the daemon (or program) had acknowledged before the faults. */
  readonly acknowledged: number;
  /** One line for each acknowledged change that was gone or damaged afterwards. */
  readonly lost: readonly string[];
  /** One line for each file, process, mount or record that no object owns afterwards. */
  readonly orphans: readonly string[];
}

export interface FaultSuite {
  /** One sentence for the help text. */
  readonly doc: string;
  /** Rounds of a long run, unless --rounds says otherwise. */
  readonly rounds: number;
  /** Why this host cannot run it; undefined when it can. */
  readonly missing: () => Promise<string | undefined>;
  readonly run: (context: FaultContext) => Promise<readonly Figures[]>;
}
