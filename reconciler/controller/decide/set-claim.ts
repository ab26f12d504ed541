// Decides from the claim on a host which controller may apply a set there. Controllers without a common lock host do not see each
// other and would change the same objects back and forth. Pure.
import type { NotesConfig } from '../../engine/notes/notes.ts';

/** The identity of a controller in its claims. */
export interface Claimant {
  /** The identity of its state directory, which stays when its name or hosts file changes. */
  readonly id: string;
  readonly controller: string;
  /** `root@host`, and its address where it has one; for messages. */
  readonly who: string;
  /** Its lock hosts: names, and hashes of names and addresses. */
  readonly locks: Readonly<Record<string, string>>;
}

export interface SetClaim extends Claimant {
  readonly since: string;
  /** Renewed while it works. */
  readonly at: string;
}

/** How long a claim holds without renewal. */
export const claimMs = 600_000;

/** Another controller has the set on this host. */
export class ClaimedError extends Error {
  override readonly name = 'ClaimedError';
}

/** The claim if it is valid and belongs to another controller. */
export const othersClaim = (found: SetClaim | undefined, own: Claimant, atMs: number): SetClaim | undefined =>
  found === undefined || isSame(found, own) || Math.abs(atMs - Date.parse(found.at)) >= claimMs ? undefined : found;

/** Controllers of one name with a common lock host are never active at the same time. */
export const isSame = (found: Claimant, own: Claimant): boolean =>
  found.id === own.id ||
  (found.controller === own.controller && Object.entries(found.locks).some(([name, hash]) => own.locks[name] === hash));

/** The claim of `own`, new or renewed. */
export const claimBy = (own: Claimant, found: SetClaim | undefined, atMs: number): SetClaim => {
  const at = new Date(atMs).toISOString();
  return { ...own, since: found !== undefined && isSame(found, own) ? found.since : at, at };
};

export const claimedText = ({ controller, who, locks, since }: SetClaim, set: string): string =>
  `another controller has the set ${set} on this host: ${controller} of ${who}, since ${since}, with its lock on ` +
  `${Object.keys(locks).join(', ')}. Let only one of them have the set, or give both the same name and the same hosts file. ` +
  `If it is gone, this one takes over ${claimMs / 60_000} minutes after its end, or at once with ` +
  `gantry controller sync ${set} --take-over`;

/** A malformed claim counts as none: everyone who may write the config of a host can write anything there. */
export function claimIn(config: NotesConfig, key: string): SetClaim | undefined {
  try {
    const { id, controller, who, locks, since, at } = JSON.parse(String(config[key])) as Partial<SetClaim>;
    const texts = [id, controller, who, since, at];
    if (!texts.every((text) => typeof text === 'string') || Number.isNaN(Date.parse(String(at)))) return undefined;
    return { id, controller, who, since, at, locks: Object(locks) as SetClaim['locks'] } as SetClaim;
  } catch {
    return undefined;
  }
}
