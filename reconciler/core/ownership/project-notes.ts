// Notes of sets in a profile of a project, for clients that may not write the server config: which notes are valid, and what their
// sets may own. Every user of the project can write the profile, so it is trusted with no more than the project.
import { isInProject, type KindName } from '../../../server/api/kinds.ts';
import { addressParts, type Address } from '../documents/document.ts';
import type { Observed } from '../documents/observed.ts';
import type { SetState } from '../documents/ownership-records.ts';
import { notePrefix } from './owner-records.ts';
import { askedKey, historyKey, lockKey, readSetStates, stateKey } from './set-state.ts';

type Config = Readonly<Record<string, unknown>>;

const isPlain = (project: string | undefined): boolean =>
  project === undefined || project === 'default' || project === '';
const ending = (project: string): string => `@${project.replaceAll('.', '~')}`;

/** Sets of the same name in two projects are two sets, since all projects share the server config. */
export const setInProject = (name: string, project: string | undefined): string =>
  project === undefined || isPlain(project) ? name : `${name}${ending(project)}`;

const holds = (config: Config, key: string): boolean => (config[key] ?? '') !== '';

/** True if the set has objects here, or a lock. A history alone does not count. */
export const hasNotesOf = (config: Config, set: string): boolean =>
  holds(config, stateKey(set)) || holds(config, lockKey(set));

/** True if the set has more than a lock here, which decides where its notes are. */
export const hasRecordsOf = (config: Config, set: string): boolean => holds(config, stateKey(set));

/** True for any note, including the history of a deleted set. */
export const isNoted = (config: Config, set: string): boolean =>
  hasNotesOf(config, set) || holds(config, historyKey(set));

/** Drops the histories of deleted sets and keeps requests to controllers, so that an unused profile can be deleted. */
export const withoutGoneSets = (config: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(config).filter(([key]) => {
      const set = setOfKey(key);
      return set === undefined || hasNotesOf(config, set) || key.startsWith(askedKey(set));
    }),
  );

interface Restriction {
  readonly restricted?: boolean | undefined;
  readonly projects?: readonly string[] | null | undefined;
}

/** True if clients without access to the server config may use the project, by certificate or through an issuer. */
export function isSharedProject(
  project: string | undefined,
  certificates: readonly Restriction[],
  server: Config,
): boolean {
  const name = project === undefined || isPlain(project) ? 'default' : project;
  const groups = Object.entries(server).filter(([key]) => key.startsWith('oidc.groups.projects.'));
  return (
    certificates.some(({ restricted, projects }) => restricted === true && (projects ?? []).includes(name)) ||
    groups.some(([, value]) => typeof value === 'string' && value.split(',').some((word) => word.trim() === name))
  );
}

/** Merges both notes. Notes in the profile only apply to sets of its project without notes in the server config. */
export function joinedNotes(server: Config, profile: Config, project: string | undefined): Config {
  return { ...ownNotes(server, profile, project), ...server };
}

function ownNotes(server: Config, profile: Config, project: string | undefined): Config {
  const isOwn = (key: string): boolean => {
    const set = setOfKey(key);
    if (set === undefined || hasNotesOf(server, set)) return false;
    return project === undefined || isPlain(project) ? !set.includes('@') : set.endsWith(ending(project));
  };
  return Object.fromEntries(Object.entries(profile).filter(([key]) => isOwn(key)));
}

/** The server config with the notes of the project. */
export const notesIn = ({
  server,
  projectNotes = {},
  base,
}: Pick<Observed, 'server' | 'projectNotes' | 'base'>): Record<string, string | boolean> =>
  ({ ...joinedNotes(server.config ?? {}, projectNotes, base) }) as Record<string, string | boolean>;

export const isNote = (key: string): boolean => setOfKey(key) !== undefined;

function setOfKey(key: string): string | undefined {
  if (!key.startsWith(notePrefix)) return undefined;
  return /^(?:set|lock|history|documents|asked|claim)\.([^.]+)/.exec(key.slice(notePrefix.length))?.[1];
}

/** Merges the states of both places. `hasOwn`: the project of the connection has its own objects of that kind. */
export function joinedStates(
  server: Config,
  profile: Config,
  project: string | undefined,
  hasOwn: (kind: KindName) => boolean,
): ReadonlyMap<string, SetState> {
  const own = [...readSetStates(ownNotes(server, profile, project))].map(
    ([set, state]) => [set, confined(state, hasOwn)] as const,
  );
  return new Map([...readSetStates(server), ...own]);
}

/** Drops objects outside the project: otherwise a tenant's note could make the administrator's plan delete them. */
function confined(state: SetState, hasOwn: (kind: KindName) => boolean): SetState {
  const isOwn = (address: Address): boolean => {
    const { kind } = addressParts(address);
    return isInProject(kind) && hasOwn(kind) && !address.includes('@');
  };
  const isLocal = (name: string): boolean => !name.includes('@');
  return {
    ...state,
    inventory: new Map([...state.inventory].filter(([address]) => isOwn(address))),
    sources: new Map([...state.sources].filter(([, image]) => isLocal(image))),
    restarts: new Map([...state.restarts].filter(([name]) => isLocal(name))),
    unready: new Set([...state.unready].filter(isLocal)),
  };
}
