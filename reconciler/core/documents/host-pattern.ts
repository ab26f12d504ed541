// Which hosts of a hosts file are meant: by name (`web1`, `web*`), by group (`@web`), or by labels (`role=web,env!=test`). Pure.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Labels } from './labels.ts';
import { isSelectorProblem, matchesSelector, parseSelector, type LabelSelector } from './label-selector.ts';

/** Facts about a host that are known without asking it. */
export interface HostFacts {
  readonly name: string;
  readonly labels: Labels;
  readonly groups: readonly string[];
}

export type HostPattern =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'group'; readonly group: string }
  | { readonly by: 'labels'; readonly selector: LabelSelector };

/** A text is the message of what is wrong with it. */
export function parseHostPattern(text: string): HostPattern | string {
  const trimmed = text.trim();
  if (trimmed === '') return 'names no host';
  if (trimmed.startsWith('@')) return { by: 'group', group: trimmed.slice(1) };
  if (!/[=!(]/.test(trimmed)) {
    if (!/[\s,]/.test(trimmed)) return { by: 'name', name: trimmed };
    return `${JSON.stringify(text)} is neither one NAME nor @GROUP nor labels such as role=web`;
  }
  const selector = parseSelector(trimmed);
  return isSelectorProblem(selector) ? selector.message : { by: 'labels', selector };
}

export function matchesHost(pattern: HostPattern, host: HostFacts): boolean {
  if (pattern.by === 'group') return host.groups.includes(pattern.group);
  if (pattern.by === 'labels') return matchesSelector(pattern.selector, host.labels);
  const parts = pattern.name.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`).test(host.name);
}

/** Names and groups that no host has are told; labels that none has may come with the next one. */
export function strangeTo(pattern: HostPattern, hosts: readonly HostFacts[]): string | undefined {
  if (pattern.by === 'labels' || hosts.some((host) => matchesHost(pattern, host))) return undefined;
  const isGroup = pattern.by === 'group';
  const word = isGroup ? pattern.group : pattern.name;
  const known = [...new Set(hosts.flatMap((host) => (isGroup ? host.groups : [host.name])))];
  const near = hint(word, known);
  const list =
    near === '' ? `; there ${known.length === 0 ? 'is none' : `are ${known.slice(0, 12).join(', ')}`}` : near;
  return `there is no ${isGroup ? 'group' : 'host'} ${word}${list}`;
}
