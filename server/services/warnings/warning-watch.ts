// Checks for the causes of warnings once after the start and each minute; then tidies the warnings.
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { WarningType } from '../../api/server/warning-types.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import type { FoundState, WarningBook } from './warning-book.ts';

export interface StateSource {
  /** Types that only this source reports: it knows all current causes of them. */
  readonly types: readonly WarningType[];
  readonly find: () => readonly FoundState[];
}

export interface WarningWatchDeps {
  readonly book: WarningBook;
  readonly sources: readonly StateSource[];
  /** Run before the sources are read. */
  readonly looks: readonly { look(): Promise<void> }[];
  readonly log: Log;
}

export class WarningWatch {
  readonly #deps: WarningWatchDeps;

  constructor(deps: WarningWatchDeps) {
    this.#deps = deps;
  }

  task(): ScheduledTask {
    return {
      name: 'Looking for states to warn of',
      run: async () => {
        for (const each of this.#deps.looks) await each.look();
        await this.look();
      },
    };
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
