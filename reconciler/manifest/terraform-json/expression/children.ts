// The expressions directly inside of an expression, in the order of the text.
import type { Expression } from './syntax.ts';

export function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.type) {
    case 'literal':
    case 'element':
    case 'name':
      return [];
    case 'attribute':
      return [expression.object];
    case 'template':
      return expression.parts.filter((part) => typeof part !== 'string');
    case 'index':
      return [expression.object, expression.key];
    case 'joined':
      return [expression.list];
    case 'splat':
      return [expression.object, expression.each];
    case 'call':
      return expression.args;
    case 'not':
    case 'negative':
      return [expression.operand];
    case 'binary':
      return [expression.left, expression.right];
    case 'if':
      return [expression.condition, expression.yes, expression.no];
    case 'list':
      return expression.items;
    case 'object':
      return expression.items.flatMap(({ key, value }) => [key, value]);
    case 'for-list':
    case 'for-object':
      break;
  }
  const { from, condition } = expression.clause;
  const results = expression.type === 'for-list' ? [expression.result] : [expression.key, expression.value];
  return [from, ...(condition === undefined ? [] : [condition]), ...results];
}
