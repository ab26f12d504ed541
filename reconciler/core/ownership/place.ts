// The place where objects are declared: a folder in a repository or on a machine. It distinguishes the objects of two directories
// that both use the set `default`. Pure.

/** `github.com/acme/infra//hosts/web`, `laptop:/home/ada/web`. */
export type PlaceText = string;

export interface SetPlace {
  /** Recorded on the objects that the run declares. */
  readonly here: PlaceText;
  /** Refuses objects of another place, takes them over to this one, or treats them like all others, as the controller does. */
  readonly others: 'refuse' | 'take' | 'allow';
}

/** `folder`: relative to the root of the repository, empty for the root. */
export const placeInRepository = (remote: string, folder: string): PlaceText => `${plainRemote(remote)}//${folder}`;

export const placeOnMachine = (machine: string, folder: string): PlaceText => `${machine}:${folder}`;

/** One spelling for all protocols, without user and password: `git@github.com:acme/infra.git` is `github.com/acme/infra`. */
function plainRemote(remote: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?(.*)$/i.exec(remote)?.[1];
  const scp = /^(?:[^/@:]+@)?([^/:]+):(?!\/\/)(.*)$/.exec(remote);
  const plain = url ?? (scp === null ? remote : `${scp[1]}/${scp[2]}`);
  return plain.replace(/\/+$/, '').replace(/\.git$/, '');
}

/** Equal, or one folder holds the other. */
export function isSamePlace(one: PlaceText, other: PlaceText): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  return long === short || long.startsWith(/[/]$/.test(short) ? short : `${short}/`);
}

/** Whether the run takes the object from the place that declared it. */
export const isTakenFrom = (recorded: PlaceText | undefined, place: SetPlace | undefined): boolean =>
  recorded !== undefined && place?.others === 'take' && !isSamePlace(recorded, place.here);

/** The place that declared the object, if it differs from the run's and the run respects it. */
export function otherPlace(recorded: PlaceText | undefined, place: SetPlace | undefined): PlaceText | undefined {
  if (recorded === undefined || place?.others !== 'refuse') return undefined;
  return isSamePlace(recorded, place.here) ? undefined : recorded;
}
