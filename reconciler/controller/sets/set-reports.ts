// Reports what happens to a set: to listeners of the API, to the log, and as notices to people.
import { pathsText } from '../decide/suspended-drift.ts';
import { short } from '../decide/short-revision.ts';
import type { DriftRecord, ObjectSummary, SetStatus } from '../contract/index.ts';
import type { Hub } from '../hub.ts';
import { SetNotices, type SetNotice } from './set-notices.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const publishMs = 100;

export class SetReports {
  readonly #set: string;
  readonly #hub: Hub;
  readonly #notices: SetNotices;
  #timer: NodeJS.Timeout | undefined;

  constructor(set: string, hub: Hub, notice: (notice: SetNotice) => void) {
    this.#set = set;
    this.#hub = hub;
    this.#notices = new SetNotices(notice);
  }

  log(level: 'info' | 'warn' | 'error', message: string, host?: string): void {
    this.#hub.log(level, message, { set: this.#set, ...withoutUndefined({ host }) });
  }

  refused(revision: string, problems: readonly string[]): void {
    this.log('error', `revision ${short(revision)} is not applied: ${problems.slice(0, 3).join('; ')}`);
    this.#notices.refused(revision, problems[0] ?? '');
  }

  withdrawn(revision: string, message: string): void {
    this.#notices.withdrawn(revision, message);
  }

  /** `revision`: the one in force. */
  drift(record: DriftRecord, revision: string | undefined): void {
    this.#hub.emit({ type: 'drift', set: this.#set, drift: record });
    this.#notices.drift(record, revision);
    const { host, address, paths, action, by } = record;
    const who = by === undefined ? '' : ` by ${by}`;
    const level = action === 'failed' ? 'error' : 'info';
    this.log(level, `${address} drifted (${pathsText(paths)})${who}: ${action}`, host);
  }

  objects(changed: readonly ObjectSummary[], gone: readonly ObjectSummary[]): void {
    if (!this.#hub.isHeard) return;
    for (const object of changed) this.#hub.emit({ type: 'object', set: this.#set, object });
    for (const object of gone) this.#hub.emit({ type: 'object', set: this.#set, object, isGone: true });
  }

  /** Reports the status a few times a second at most, since it changes often. */
  status(current: () => SetStatus): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const set = current();
      this.#hub.emit({ type: 'set', set });
      this.#notices.status(set);
    }, publishMs);
    this.#timer.unref();
  }
}
