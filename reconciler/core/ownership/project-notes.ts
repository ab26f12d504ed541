// Notes of sets in a profile of a project, for clients that may not write the server config: the reserved name, which notes of the profile
// are valid, and what its sets may own. Everyone who may use the project writes the profile, so it is not trusted with more than the project.
import { isInProject, type KindName } from '../../../server/api/kinds.ts';
import type { Address } from '../documents/document.ts';
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

/** The set has objects here, or a lock. A history alone, which outlives them, decides nothing. */
export const hasNotesOf = (config: Config, set: string): boolean =>
  holds(config, stateKey(set)) || holds(config, lockKey(set));

/** More than a lock: what decides in which place the set is noted. */
export const hasRecordsOf = (config: Config, set: string): boolean => holds(config, stateKey(set));

/** Anything, also the history of a set that is gone. */
export const isNoted = (config: Config, set: string): boolean =>
  hasNotesOf(config, set) || holds(config, historyKey(set));

/** Without the histories of sets that are gone, but with what people asked of a controller: a profile is there no longer than what its project uses it for. */
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

/** Clients that see no config of the server may use the project: by a certificate, or as users of an issuer. */
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

/** The notes of both places. Those in the profile hold only for sets of its project that have none in the server config. */
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

/** The states of both places. `hasOwn`: the project of the connection has its own objects of that kind. */
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

/** Without objects outside the project: a plan of the administrator would delete what a tenant wrote here. */
function confined(state: SetState, hasOwn: (kind: KindName) => boolean): SetState {
  const isOwn = (address: Address): boolean => {
    const kind = address.slice(0, address.indexOf('/')) as KindName;
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
