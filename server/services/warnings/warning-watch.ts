// Checks for the causes of warnings once after the start and each minute; then tidies the warnings.
import type { Log } from '../../lib/log.ts';
import { untilAborted, withLimit } from '../../lib/shared/deadline.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { WarningType } from '../../api/server/warning-types.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import type { FoundState, WarningBook } from './warning-book.ts';

export interface StateSource {
  /** Types that only this source reports: it knows all current causes of them. */
  readonly types: readonly WarningType[];
  readonly find: () => readonly FoundState[];
}

interface Look {
  look(): Promise<void>;
}

/** How long the other tasks of a minute wait for a look that hangs, at a pool on a server that is gone for example. */
const longestLookMs = 10_000;

export interface WarningWatchDeps {
  readonly book: WarningBook;
  readonly sources: readonly StateSource[];
  /** Run before the sources are read. */
  readonly looks: readonly Look[];
  readonly log: Log;
}

export class WarningWatch {
  readonly #deps: WarningWatchDeps;
  readonly #looking = new Map<Look, Promise<void>>();

  constructor(deps: WarningWatchDeps) {
    this.#deps = deps;
  }

  task(): ScheduledTask {
    return {
      name: 'Looking for states to warn of',
      run: async (_minute, signal) => {
        const looked = Promise.all(this.#deps.looks.map((each) => this.#lookOnce(each)));
        await Promise.race([looked, untilAborted(withLimit(signal, longestLookMs))]);
        await this.look();
      },
    };
  }

  /** The one under way, if there is one. */
  #lookOnce(each: Look): Promise<void> {
    const looking =
      this.#looking.get(each) ??
      each.look().finally(() => {
        this.#looking.delete(each);
      });
    this.#looking.set(each, looking);
    return looking;
  }

  /** Never throws. */
  async look(): Promise<void> {
    const { book, sources, log } = this.#deps;
    try {
      for (const { types, find } of sources) book.updateStates(types, find());
      await book.tidy();
    } catch (error) {
      log.debug(`Looking for states to warn of failed: ${errorText(error)}`);
    }
  }
}
