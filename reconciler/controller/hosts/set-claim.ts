// Which controller brings a set to a host, noted there with each run: two controllers that share no host with a lock do not know of each
// other, and would change the same objects back and forth.
import { createHash } from 'node:crypto';
import { claimKey } from '../../core/ownership/set-state.ts';
import type { NotesConfig } from '../../engine/notes/notes.ts';
import type { RunNotes } from '../../engine/runs/set-run.ts';
import type { HostLink } from './host-link.ts';

export interface SetClaim {
  readonly controller: string;
  /** The hosts with its lock: their names, and hashes of their names and addresses. */
  readonly locks: Readonly<Record<string, string>>;
  /** `root@host`, for messages. */
  readonly who: string;
}

/** A controller that is gone, or lost the set, keeps it from others for this long after its last run. */
export const claimMs = 600_000;

export class ClaimedError extends Error {
  override readonly name = 'ClaimedError';
}

export const claimOf = (controller: string, who: string, locks: readonly Pick<HostLink, 'host'>[]): SetClaim => ({
  controller,
  who,
  locks: Object.fromEntries(locks.map(({ host: { name, address } }) => [name, hashOf(`${name} ${address}`)])),
});

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Notes of a run that also claim the set for this controller. A run of a set that another one has throws ClaimedError. */
export const claiming = (notes: RunNotes, set: string, own: SetClaim): RunNotes => ({
  opened(config, plan, run, atMs) {
    const found = claimIn(config, set);
    if (found !== undefined && isOther(found, own) && Math.abs(atMs - Date.parse(found.at)) < claimMs)
      throw new ClaimedError(textOf(found, set));
    const claim = JSON.stringify({ ...own, at: new Date(atMs).toISOString() });
    return { ...notes.opened(config, plan, run, atMs), [claimKey(set)]: claim };
  },
  closed: (...ended) => notes.closed(...ended),
});

/** Controllers of one name that have a host with a lock in common never work at the same time. */
const isOther = (found: SetClaim, own: SetClaim): boolean =>
  found.controller !== own.controller || !Object.entries(found.locks).some(([name, hash]) => own.locks[name] === hash);

function textOf({ controller, who, locks, at }: SetClaim & { readonly at: string }, set: string): string {
  const until = new Date(Date.parse(at) + claimMs).toISOString();
  return (
    `another controller has the set ${set} on this host: ${controller} of ${who}, which last changed it at ${at} and holds its lock ` +
    `on ${Object.keys(locks).join(', ')}. Let only one of them have the set, or give both the same name and the same hosts file. ` +
    `If the other one is gone, this one takes over at ${until}`
  );
}

/** Everybody who may write the config of a host can write anything there: what is no claim counts as none. */
function claimIn(config: NotesConfig, set: string): (SetClaim & { readonly at: string }) | undefined {
  try {
    const { controller, locks, who, at } = JSON.parse(String(config[claimKey(set)])) as Partial<
      SetClaim & { readonly at: string }
    >;
    if (typeof controller !== 'string' || typeof who !== 'string' || Number.isNaN(Date.parse(String(at))))
      return undefined;
    return { controller, who, locks: Object(locks) as SetClaim['locks'], at: String(at) };
  } catch {
    return undefined;
  }
}
