// The names that an expression refers to, for the order of evaluation; it looks nothing up.
import type { Expression } from './syntax.ts';

/** `['gantry_network', 'web', 'name']`; without the names that for expressions define. */
export function referencesOf(expression: Expression): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  collect(expression, new Set(), found);
  return found;
}

function collect(expression: Expression, bound: ReadonlySet<string>, found: (readonly string[])[]): void {
  const go = (next: Expression, names = bound): void => collect(next, names, found);
  switch (expression.type) {
    case 'literal':
    case 'element':
      return;
    case 'name':
    case 'attribute':
      collectReference(expression, bound, found);
      return;
    case 'template':
      for (const part of expression.parts) if (typeof part !== 'string') go(part);
      return;
    case 'index':
      go(expression.object);
      go(expression.key);
      return;
    case 'joined':
      go(expression.list);
      return;
    case 'splat':
      go(expression.object);
      go(expression.each);
      return;
    case 'call':
      expression.args.forEach((arg) => go(arg));
      return;
    case 'not':
    case 'negative':
      go(expression.operand);
      return;
    case 'binary':
      go(expression.left);
      go(expression.right);
      return;
    case 'if':
      go(expression.condition);
      go(expression.yes);
      go(expression.no);
      return;
    case 'list':
      expression.items.forEach((item) => go(item));
      return;
    case 'object':
      for (const { key, value } of expression.items) [key, value].forEach((part) => go(part));
      return;
    case 'for-list':
    case 'for-object': {
      const { clause } = expression;
      go(clause.from);
      const inner = new Set([...bound, clause.value, ...(clause.key === undefined ? [] : [clause.key])]);
      if (clause.condition !== undefined) go(clause.condition, inner);
      const parts = expression.type === 'for-list' ? [expression.result] : [expression.key, expression.value];
      parts.forEach((part) => go(part, inner));
    }
  }
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
