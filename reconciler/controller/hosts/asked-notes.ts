// Stores suspensions and approvals on the hosts that have the lock of the controller, so that a controller that takes over needs no state directory.
import { pause } from '../../../server/lib/shared/deadline.ts';
import { askedKey } from '../../core/ownership/set-state.ts';
import { joinedParts, partsOf } from '../../core/ownership/long-notes.ts';
import { changeNotes, type NotesConfig } from '../../engine/notes/notes.ts';
import { SetNotes } from '../../engine/notes/set-notes.ts';
import type { Approval } from '../decide/approval.ts';
import type { Suspension } from '../contract/index.ts';
import type { HostLink } from './host-link.ts';
import { noteSetOf } from './lease.ts';

export interface AskedNote {
  /** Grows with each change: the note with the highest one is the newest. */
  readonly n: number;
  readonly suspensions: readonly Suspension[];
  readonly approvals: readonly Approval[];
}

export const emptyNote: AskedNote = { n: 0, suspensions: [], approvals: [] };

/** Where suspensions and approvals are stored. */
export interface AskedPlace {
  /** The newest one; undefined when no host has any. Rejects unless most of the hosts answered. */
  read(): Promise<AskedNote | undefined>;
  /** Rejects unless most of the hosts stored it; one that has a newer note, or another one as new, does not. */
  write(note: AskedNote): Promise<void>;
}

const patienceMs = 10_000;

export class AskedNotes implements AskedPlace {
  readonly #set: string;
  readonly #hosts: () => readonly HostLink[];

  /** `hosts`: those with a lock. */
  constructor(controller: string, hosts: () => readonly HostLink[]) {
    this.#set = noteSetOf(controller);
    this.#hosts = hosts;
  }

  async read(): Promise<AskedNote | undefined> {
    const found = await this.#onMost('read', async (notes, signal) =>
      noteIn((await notes.read(signal)).config, this.#set),
    );
    return found.reduce<AskedNote | undefined>(
      (newest, one) => (one !== undefined && one.n > (newest?.n ?? -1) ? one : newest),
      undefined,
    );
  }

  async write(note: AskedNote): Promise<void> {
    const text = JSON.stringify(note);
    await this.#onMost('written', (notes, signal) =>
      changeNotes(
        { notes, pause },
        (config) => {
          const there = noteIn(config, this.#set);
          if (joinedParts(askedKey(this.#set), config) === text) return undefined;
          if (there !== undefined && there.n >= note.n)
            throw new Error('another controller noted something newer; this one reads it when it takes over');
          return partsOf(askedKey(this.#set), text, config);
        },
        signal,
      ),
    );
  }

  async #onMost<T>(what: string, work: (notes: SetNotes, signal: AbortSignal) => Promise<T>): Promise<readonly T[]> {
    const hosts = this.#hosts();
    const signal = AbortSignal.timeout(patienceMs);
    const results = await Promise.allSettled(
      hosts.map(async (link) => work(new SetNotes(link.client, this.#set, link.host.project), signal)),
    );
    const done = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (2 * done.length > hosts.length) return done;
    const failed = results.find((one) => one.status === 'rejected');
    const names = hosts.filter((_host, at) => results[at]?.status === 'rejected').map(({ host }) => host.name);
    throw new Error(`the notes of the controller cannot be ${what} on ${names.join(', ')}`, { cause: failed?.reason });
  }
}

/** Anybody who may write the config of a host can write anything there, so an invalid note is ignored. */
function noteIn(config: NotesConfig, set: string): AskedNote | undefined {
  try {
    const { n, suspensions, approvals } = JSON.parse(joinedParts(askedKey(set), config)) as Partial<AskedNote>;
    if (!Number.isSafeInteger(n) || !Array.isArray(suspensions) || !Array.isArray(approvals)) return undefined;
    return { n: n ?? 0, suspensions, approvals };
  } catch {
    return undefined;
  }
}
