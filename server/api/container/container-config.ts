// Validates the config of a container or profile against the table of keys. Merging and run-time defaults are elsewhere. Pure.
import { containerConfigKeys, type ConfigEffect, type ConfigKey } from './container-config-keys.ts';
import { countProblems, maxProblems, unknownName, type Problem } from '../problem.ts';
import { isTrue, judge, manyLines, oneLine, shown } from '../text/value-checks.ts';

export { isTrue };
export { containerConfigKeys, type ConfigEffect, type ConfigKey } from './container-config-keys.ts';

type Config = Readonly<Record<string, string>>;

export interface ConfigContext {
  /** The config of a profile: refuses keys that only containers have. */
  readonly profile: boolean;
  /** The stored config: unchanged entries pass, so that an older value never blocks an unrelated change. */
  readonly previous?: Config;
}

const keys: ReadonlyMap<string, ConfigKey> = new Map(Object.entries(containerConfigKeys));
const patterns = [...keys].filter(([key]) => key.includes('*')).map(([key, fact]) => ({ ...splitAtStar(key), fact }));

function splitAtStar(key: string): { readonly prefix: string; readonly suffix: string } {
  const star = key.indexOf('*');
  return { prefix: key.slice(0, star), suffix: key.slice(star + 1) };
}

interface KnownKey {
  readonly fact: ConfigKey;
  /** The part that `*` matches; empty for a plain key. */
  readonly part: string;
}

export function containerConfigKey(key: string): KnownKey | undefined {
  const plain = key.includes('*') ? undefined : keys.get(key);
  if (plain !== undefined) return { fact: plain, part: '' };
  for (const { prefix, suffix, fact } of patterns) {
    if (key.length > prefix.length + suffix.length && key.startsWith(prefix) && key.endsWith(suffix)) {
      return { fact, part: key.slice(prefix.length, key.length - suffix.length) };
    }
  }
  return undefined;
}

/** The reconciler's notes on its own sets (owners, locks, history). They apply to one object on one server only. */
export const isNoteKey = (key: string): boolean =>
  key.startsWith('user.gantry.') && !key.startsWith('user.gantry.label.');

export const isVolatile = (key: string): boolean => key.startsWith('volatile.');

/** The effect of changing the key on a running container; unknown keys have none. */
export const effectOfContainerKey = (key: string): ConfigEffect => containerConfigKey(key)?.fact.effect ?? 'none';

/** Every problem of the config, with paths `config.<key>`. Empty values mean unset and are always fine. */
export function validateContainerConfig(config: Config, context: ConfigContext): Problem[] {
  const problems: Problem[] = [...countProblems('config', config)];
  for (const [key, value] of Object.entries(config)) {
    if (problems.length >= maxProblems) break;
    if (context.previous?.[key] === value) continue;
    const found = wrongKey(key, context) ?? (value === '' ? undefined : wrongValue(key, value));
    if (found !== undefined) problems.push(found);
  }
  return [...problems, ...conflicts(config), ...nvidiaProblems(config)];
}

/** Call it for a config by itself, and for one with profiles applied. */
export function nvidiaProblems(config: Config): Problem[] {
  if (!isTrue(config['nvidia.runtime']) || !isTrue(config['security.privileged'])) return [];
  const message = 'nvidia.runtime does not work in privileged containers: unset it or security.privileged';
  return [{ path: 'config.nvidia.runtime', message }];
}

/** Known keys of other servers that this daemon does not support. */
const foreign: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    /^security\.syscalls\.intercept\./,
    'this daemon does not intercept system calls of containers: the kernel refuses them in a user namespace as usual',
  ],
];

function wrongKey(key: string, context: ConfigContext): Problem | undefined {
  const known = containerConfigKey(key);
  const path = `config.${key}`;
  const message = `unknown key ${shown(key)}`;
  if (known === undefined) {
    const why = foreign.find(([pattern]) => pattern.test(key))?.[1];
    if (why !== undefined) return { path, message: `${message}: ${why}`, code: 'unknownKey' };
    return unknownName('unknownKey', path, key, plainKeys, (hint) => `${message}${hint}`);
  }
  if (context.profile && known.fact.profile === false)
    return { path, message: `${key} belongs to one container: a profile cannot hold it` };
  const broken = known.part === '' ? undefined : (oneLine(known.part) ?? known.fact.part?.(known.part));
  return broken === undefined
    ? undefined
    : unknownName('unknownKey', path, key, plainKeys, (hint) => `${message}: ${shown(known.part)} ${broken}${hint}`);
}

/** Id maps, which the server writes, are lists. */
const formOf = ({ type, computed }: ConfigKey): 'word' | 'list' =>
  type === 'lines' || type === 'list' || computed === true ? 'list' : 'word';

function wrongValue(key: string, value: string): Problem | undefined {
  const fact = containerConfigKey(key)?.fact;
  if (fact === undefined) return undefined;
  const broken = (fact.type === 'lines' ? manyLines : oneLine)(value) ?? judge(fact.check, value, formOf(fact));
  return broken === undefined
    ? undefined
    : { path: `config.${key}`, message: `${key} cannot be ${shown(value)}: it ${broken}` };
}

const plainKeys = [...keys.keys()].filter((key) => !key.includes('*'));
const syscallKeys = plainKeys.filter((key) => key.startsWith('security.syscalls.'));
/** Older names, all of which still work; the current name comes first. */
export const syscallNames = [
  ['security.syscalls.allow', 'security.syscalls.whitelist'],
  ['security.syscalls.deny', 'security.syscalls.blacklist'],
  ['security.syscalls.deny_compat', 'security.syscalls.blacklist_compat'],
  ['security.syscalls.deny_default', 'security.syscalls.blacklist_default'],
] as const;
const [allowNames, ...denyNames] = syscallNames;

const excludesOthers = (key: string): boolean => key === 'raw.seccomp' || key.startsWith('security.syscalls.');

/** Keys that exclude each other. If two are set, the message names the one that would take precedence. */
function conflicts(config: Config): Problem[] {
  if (!Object.keys(config).some(excludesOthers)) return [];
  const isSet = (key: string): boolean => (config[key] ?? '') !== '';
  const exclusive = (key: string, others: readonly string[]): Problem[] => {
    const clash = isSet(key) ? others.filter(isSet) : [];
    return clash.length === 0
      ? []
      : [{ path: `config.${key}`, message: `${key} cannot be set together with ${clash.join(', ')}: unset one side` }];
  };
  return [
    ...exclusive('raw.seccomp', syscallKeys),
    ...allowNames.flatMap((key) => exclusive(key, denyNames.flat())),
    ...syscallNames.flatMap(([name, older]) => exclusive(older, [name])),
  ];
}
