// The contract of notifications: the notice about a set, and the notifier that sends it.
import type { NoticeKind } from './notify-schema.ts';

export interface Notice {
  readonly kind: NoticeKind;
  /** RFC 3339. */
  readonly at: string;
  readonly controller: string;
  readonly set: string;
  /** The affected hosts; empty: all of the set. */
  readonly hosts: readonly string[];
  /** The revision of the source; commit statuses need a commit here. */
  readonly revision?: string;
  /** One sentence: what happened and why, without values of objects. */
  readonly message: string;
  readonly changes?: { readonly create: number; readonly update: number; readonly delete: number };
  /** What drifted or failed: addresses and paths, never values. */
  readonly objects?: readonly { readonly host: string; readonly address: string; readonly paths?: readonly string[] }[];
  /** The set on the page of the controller. */
  readonly link?: string;
}

export interface Notifier {
  /** Queues a notice for the named notifications (undefined: all) without waiting; a full queue drops the oldest. */
  notify(notice: Notice, names?: readonly string[]): void;
  /** Waits until the queue is empty, at most `limitMs`, then stops. */
  close(limitMs: number): Promise<void>;
}

/** The result of one delivery, for the log and the metrics. */
export interface Delivery {
  readonly notification: string;
  readonly kind: NoticeKind;
  readonly set: string;
  readonly outcome: 'sent' | 'failed' | 'dropped';
  readonly attempts: number;
  /** Without secrets. */
  readonly message?: string;
}
