// Label selectors in kubectl's syntax: `app=web,tier!=db`, `env in (prod,staging)`, `zone notin (a)`, `canary`, `!canary`. Pure.
import { isLabelKey, isLabelValue, type Labels } from './labels.ts';
import { compareText } from '../text/listing-order.ts';
import { namesText } from '../../../server/api/text/names-text.ts';

interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent';
  readonly values: readonly string[];
}

/** All conditions must match. */
export type LabelSelector = readonly Requirement[];

export interface SelectorProblem {
  readonly message: string;
}

export const isSelectorProblem = (parsed: LabelSelector | SelectorProblem): parsed is SelectorProblem =>
  'message' in parsed;

const examples = 'such as app=web,tier!=db or env in (prod,staging)';

export function parseSelector(text: string): LabelSelector | SelectorProblem {
  const requirements: Requirement[] = [];
  const parts = splitAtCommas(text);
  if (parts === undefined) return { message: `the parentheses do not match: write it ${examples}` };
  for (const part of parts) {
    const parsed = parseRequirement(part.trim());
    if ('message' in parsed) return parsed;
    requirements.push(parsed);
  }
  return requirements;
}

/** Undefined when parentheses are unbalanced. */
function splitAtCommas(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0 || depth > 1) return undefined;
    if (character !== ',' || depth > 0) continue;
    parts.push(text.slice(start, at));
    start = at + 1;
  }
  return depth === 0 ? [...parts, text.slice(start)] : undefined;
}

function parseRequirement(text: string): Requirement | SelectorProblem {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  const equal = /^([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)$/.exec(text);
  const bare = /^(!?)\s*([^=!()\s]+)$/.exec(text);
  const [key, operator, values]: readonly [string, Requirement['operator'], readonly string[]] =
    set !== null
      ? [set[1] ?? '', set[2] === 'in' ? 'in' : 'notin', (set[3] ?? '').split(',').map((value) => value.trim())]
      : equal !== null
        ? [equal[1] ?? '', equal[2] === '!=' ? 'notin' : 'in', [equal[3] ?? '']]
        : bare !== null
          ? [bare[2] ?? '', bare[1] === '!' ? 'absent' : 'exists', []]
          : ['', 'exists', []];
  if (!isLabelKey(key)) {
    const what = text === '' ? 'a part is empty' : `${JSON.stringify(text)} is not a condition on a label`;
    return { message: `${what}: write it ${examples}` };
  }
  const wrong = values.find((value) => !isLabelValue(value));
  if (wrong !== undefined) return { message: `${JSON.stringify(wrong)} cannot be a value of the label ${key}` };
  return { key, operator, values };
}

/** `!=` and `notin` also match objects without the label. */
export const matchesSelector = (selector: LabelSelector, labels: Labels): boolean =>
  selector.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === 'exists') return value !== undefined;
    if (operator === 'absent') return value === undefined;
    return (value !== undefined && values.includes(value)) === (operator === 'in');
  });

/** `app=web, tier=db`: all labels of the objects, for the message about a selector that matches none. */
export function listLabels(all: readonly Labels[]): string {
  const pairs = new Set(all.flatMap((labels) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)));
  const sorted = [...pairs].sort(compareText);
  return namesText(sorted, 12);
}
