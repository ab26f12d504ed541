// Selects hosts of a hosts file: by name (`web1`, `web*`), by group (`@web`), or by labels (`role=web,env!=test`). Pure.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Labels } from './labels.ts';
import { isSelectorProblem, matchesSelector, parseSelector, type LabelSelector } from './label-selector.ts';
import { starPattern } from '../text/star-pattern.ts';

/** Facts about a host that are known without a connection to it. */
export interface HostFacts {
  readonly name: string;
  readonly labels: Labels;
  readonly groups: readonly string[];
}

export type HostPattern =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'group'; readonly group: string }
  | { readonly by: 'labels'; readonly selector: LabelSelector };

/** Returns the pattern, or a message as text when it is malformed. */
export function parseHostPattern(text: string): HostPattern | string {
  const trimmed = text.trim();
  if (trimmed === '') return 'names no host';
  if (trimmed.startsWith('@')) return { by: 'group', group: trimmed.slice(1) };
  if (!/[=!(]/.test(trimmed)) {
    if (!/[\s,]/.test(trimmed)) return { by: 'name', name: trimmed };
    return `${JSON.stringify(text)} must be one NAME, @GROUP, or labels such as role=web`;
  }
  const selector = parseSelector(trimmed);
  return isSelectorProblem(selector) ? selector.message : { by: 'labels', selector };
}

export function matchesHost(pattern: HostPattern, host: HostFacts): boolean {
  if (pattern.by === 'group') return host.groups.includes(pattern.group);
  if (pattern.by === 'labels') return matchesSelector(pattern.selector, host.labels);
  return starPattern(pattern.name).test(host.name);
}

/** The message for a name or group that no host has. A label without a host is allowed, since the next host may have it. */
export function unknownNameIn(pattern: HostPattern, hosts: readonly HostFacts[]): string | undefined {
  if (pattern.by === 'labels' || hosts.some((host) => matchesHost(pattern, host))) return undefined;
  const isGroup = pattern.by === 'group';
  const word = isGroup ? pattern.group : pattern.name;
  const known = [...new Set(hosts.flatMap((host) => (isGroup ? host.groups : [host.name])))];
  const near = hint(word, known);
  const list =
    near === '' ? `; there ${known.length === 0 ? 'is none' : `are ${known.slice(0, 12).join(', ')}`}` : near;
  return `there is no ${isGroup ? 'group' : 'host'} ${word}${list}`;
}
