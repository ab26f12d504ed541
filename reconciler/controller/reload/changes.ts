// Compares the configuration in use with a new one: added and removed parts, and changes that need a restart.
import { isDeepStrictEqual } from 'node:util';
import { matchesHost } from '../../core/documents/host-pattern.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { ControllerConfig, SetConfig } from '../config/config.ts';
import type { Completed } from '../generators/generated-sets.ts';

/** The contents of gantry.yaml and the hosts file. */
export interface Configuration {
  readonly config: ControllerConfig;
  /** In the order of the file. */
  readonly hosts: readonly Host[];
  /** Absent if `config` has no generated sets. */
  readonly generated?: Completed;
}

export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Parts that restart. */
  readonly changed: readonly string[];
}

export const gone = ({ removed, changed }: Difference): readonly string[] => [...removed, ...changed];

export const isNew = ({ added, changed }: Difference, name: string): boolean =>
  added.includes(name) || changed.includes(name);

export interface ConfigChanges {
  /** A changed host is connected to again. */
  readonly hosts: Difference;
  /** Only their labels or variables changed; their connections stay. */
  readonly described: readonly string[];
  readonly sources: Difference;
  readonly sets: Difference;
  /** Unchanged sets whose hosts changed. */
  readonly moved: readonly string[];
  readonly notifications: boolean;
  readonly access: boolean;
  /** Changes that need a restart. */
  readonly refused: readonly string[];
}

/** The hosts of a set, in the order of the hosts file. */
export const hostsOf = (set: SetConfig, hosts: readonly Host[]): readonly Host[] =>
  hosts.filter((host) => set.hosts.length === 0 || set.hosts.some((pattern) => matchesHost(pattern, host)));

export function changesBetween(old: Configuration, next: Configuration): ConfigChanges {
  const width = old.config.parallelism === next.config.parallelism;
  const hosts = differenceOf(old.hosts, next.hosts, (one, other) => width && isSameConnection(one, other));
  const sources = differenceOf(old.config.sources, next.config.sources, isDeepStrictEqual);
  const sets = differenceOf(
    old.config.sets,
    next.config.sets,
    (one, other) => width && !sources.changed.includes(other.source) && isDeepStrictEqual(one, other),
  );
  const described = next.hosts.filter((host) => {
    const before = old.hosts.find(({ name }) => name === host.name);
    return before !== undefined && !hosts.changed.includes(host.name) && !isDeepStrictEqual(before, host);
  });
  const moved = next.config.sets.filter((set) => {
    if (sets.added.includes(set.name) || sets.changed.includes(set.name)) return false;
    const [before, after] = [hostsOf(set, old.hosts), hostsOf(set, next.hosts)];
    return !isDeepStrictEqual(before, after) || after.some(({ name }) => hosts.changed.includes(name));
  });
  const { notifications } = next.config;
  return {
    hosts,
    described: described.map(({ name }) => name),
    sources,
    sets,
    moved: moved.map(({ name }) => name),
    notifications: !isDeepStrictEqual(old.config.notifications, notifications),
    access: accessKeys.some((key) => !isDeepStrictEqual(old.config[key], next.config[key])),
    refused: restartKeys
      .filter(([key]) => !isDeepStrictEqual(old.config[key], next.config[key]))
      .map(
        ([, path]) => `${path} changed, which needs a restart of the controller: restart it, or change ${path} back`,
      ),
  };
}

/** A summary for the log; empty: nothing differs. */
export function changesText({ hosts, described, sources, sets, moved, notifications, access }: ConfigChanges): string {
  const texts = [
    ...differenceTexts('host', hosts),
    ...described.map((name) => `host ${name} described anew`),
    ...differenceTexts('source', sources),
    ...differenceTexts('set', sets),
    ...moved.map((name) => `hosts of the set ${name} changed`),
    ...(notifications ? ['notifications changed'] : []),
    ...(access ? ['access to the API changed'] : []),
  ];
  const shown = texts.slice(0, maxShown);
  return [...shown, ...(texts.length > maxShown ? [`${texts.length - maxShown} more`] : [])].join(', ');
}

const maxShown = 12;

const restartKeys = [
  ['name', 'controller.name'],
  ['stateDir', 'controller.stateDir'],
  ['stateKey', 'controller.stateKey'],
  ['listen', 'controller.listen'],
  ['url', 'controller.url'],
  ['tls', 'controller.tls'],
  ['tracing', 'tracing'],
] as const satisfies readonly (readonly [keyof ControllerConfig, string])[];

const accessKeys = [
  'auth',
  'anonymous',
  'console',
  'trustedProxies',
] as const satisfies readonly (keyof ControllerConfig)[];

function isSameConnection(one: Host, other: Host): boolean {
  const { vars: _vars, labels: _labels, groups: _groups, ...connection } = one;
  const { vars: _otherVars, labels: _otherLabels, groups: _otherGroups, ...otherConnection } = other;
  return isDeepStrictEqual(connection, otherConnection);
}

function differenceOf<T extends { readonly name: string }>(
  old: readonly T[],
  next: readonly T[],
  isSame: (one: T, other: T) => boolean,
): Difference {
  const before = new Map(old.map((one) => [one.name, one]));
  const after = new Map(next.map((one) => [one.name, one]));
  const isChanged = (one: T): boolean => {
    const found = before.get(one.name);
    return found !== undefined && !isSame(found, one);
  };
  return {
    added: next.filter(({ name }) => !before.has(name)).map(({ name }) => name),
    removed: old.filter(({ name }) => !after.has(name)).map(({ name }) => name),
    changed: next.filter(isChanged).map(({ name }) => name),
  };
}

const differenceTexts = (what: string, { added, removed, changed }: Difference): readonly string[] => [
  ...added.map((name) => `${what} ${name} added`),
  ...removed.map((name) => `${what} ${name} removed`),
  ...changed.map((name) => `${what} ${name} changed`),
];
