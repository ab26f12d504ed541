// The names that an expression refers to, for the order of evaluation; it looks nothing up.
import { childrenOf } from './children.ts';
import type { Expression } from './syntax.ts';

/** `['gantry_network', 'web', 'name']`; without the names that for expressions define. */
export function referencesOf(expression: Expression): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  collect(expression, new Set(), found);
  return found;
}

function collect(expression: Expression, bound: ReadonlySet<string>, found: (readonly string[])[]): void {
  if (expression.type === 'name' || expression.type === 'attribute') collectReference(expression, bound, found);
  else if (expression.type === 'for-list' || expression.type === 'for-object') {
    const { key, value, from } = expression.clause;
    const inner = new Set([...bound, value, ...(key === undefined ? [] : [key])]);
    for (const child of childrenOf(expression)) collect(child, child === from ? bound : inner, found);
  } else for (const child of childrenOf(expression)) collect(child, bound, found);
}

function collectReference(expression: Expression, bound: ReadonlySet<string>, found: (readonly string[])[]): void {
  const names: string[] = [];
  let at: Expression = expression;
  while (at.type === 'attribute') {
    names.unshift(at.name);
    at = at.object;
  }
  if (at.type !== 'name') collect(at, bound, found);
  else if (!bound.has(at.name)) found.push([at.name, ...names]);
}
