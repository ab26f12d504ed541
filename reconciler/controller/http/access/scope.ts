// Decides which sets a caller sees: all if no grant has the right view; otherwise viewers see only the sets of their own grants. Pure.
import { starPattern } from '../../../core/text/star-pattern.ts';
import type { ControllerEvent, LogLine, Overview } from '../../contract/index.ts';
import type { GrantSettings } from '../settings.ts';
import { isGrantOf, type Grantee } from './grants.ts';

/** Undefined: all sets. */
export type Scope = ((set: string) => boolean) | undefined;

export function scopeOf(grants: readonly GrantSettings[], who: Grantee): Scope {
  const isLimited = grants.some(({ rights }) => rights.includes('view'));
  if (!isLimited || who.role === 'operate') return undefined;
  // Users who may change a set see it. A console right is about hosts, not sets.
  const own = grants.filter((grant) => isGrantOf(grant, who) && grant.rights.some((right) => right !== 'console'));
  if (own.some(({ sets }) => sets === undefined)) return undefined;
  const patterns = own.flatMap(({ sets = [] }) => sets.map((text) => starPattern(text)));
  return (set) => patterns.some((pattern) => pattern.test(set));
}

/** Contains the sources and hosts of these sets alone. */
export function overviewIn(overview: Overview, scope: Scope): Overview {
  if (scope === undefined) return overview;
  const sets = overview.sets.filter(({ name }) => scope(name));
  const sources = new Set(sets.map(({ source }) => source));
  const hosts = new Set(sets.flatMap((set) => set.hosts.map(({ host }) => host)));
  const { config, ...controller } = overview.controller;
  return {
    // Problems of the file may name the sets of others.
    controller: { ...controller, ...(config === undefined ? {} : { config: { ...config, problems: [] } }) },
    sources: overview.sources.filter(({ name }) => sources.has(name)),
    hosts: overview.hosts.filter(({ name }) => hosts.has(name)),
    sets,
  };
}

/** The subject of an event or sample; without a set, host and source only callers who see all sets get it. */
export interface About {
  readonly set?: string | undefined;
  readonly host?: string | undefined;
  readonly source?: string | undefined;
}

export function aboutOf(event: ControllerEvent): About {
  if (event.type === 'set') return { set: event.set.name };
  if (event.type === 'run') return { set: event.operation.set };
  if (event.type === 'source') return { source: event.source.name };
  if (event.type === 'host') return { host: event.host.name };
  if (event.type === 'log') return aboutLine(event.line);
  return event.type === 'reset' ? {} : { set: event.set };
}

export const aboutLine = ({ set, host, source }: LogLine): About => ({ set, host, source });

export function isAbout(
  { set, host, source }: About,
  { sources, hosts }: Pick<Overview, 'sources' | 'hosts'>,
  scope: Scope,
) {
  if (scope === undefined) return true;
  if (set !== undefined) return scope(set);
  if (host !== undefined) return hosts.some(({ name }) => name === host);
  return source !== undefined && sources.some(({ name }) => name === source);
}

/** Only the samples about these sets, their hosts and their sources. */
export function metricsIn(text: string, overview: Overview, scope: Scope): string {
  if (scope === undefined) return text;
  const label = (line: string, name: string): string | undefined =>
    new RegExp(`[{,]${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(line)?.[1];
  return text
    .split('\n')
    .filter((line) => {
      if (line === '' || line.startsWith('#')) return true;
      const about = { set: label(line, 'set'), host: label(line, 'host'), source: label(line, 'source') };
      return isAbout(about, overview, scope);
    })
    .join('\n');
}
