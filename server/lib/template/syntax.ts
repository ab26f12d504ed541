// The parts of a parsed template, and the error with the line of a mistake.

export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
  }
}

export type Expression = { readonly depth: number; readonly line: number } & (
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'member'; readonly of: Expression; readonly key: Expression }
  | { readonly kind: 'call'; readonly callee: Expression; readonly args: readonly Expression[] }
  | { readonly kind: 'filter'; readonly name: string; readonly of: Expression; readonly args: readonly Expression[] }
  | { readonly kind: 'unary'; readonly operator: 'not' | '-'; readonly of: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'defined'; readonly of: Expression; readonly negated: boolean }
  | {
      readonly kind: 'choice';
      readonly condition: Expression;
      readonly chosen: Expression;
      readonly otherwise: Expression | undefined;
    }
);

export const binaryOperators = [
  'or',
  'and',
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'not in',
  '~',
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
] as const;
export type BinaryOperator = (typeof binaryOperators)[number];

export type Statement =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly value: Expression }
  | { readonly kind: 'set'; readonly name: string; readonly value: Expression }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly condition: Expression; readonly body: readonly Statement[] }[];
      readonly otherwise: readonly Statement[];
    }
  | {
      readonly kind: 'for';
      readonly line: number;
      readonly names: readonly string[];
      readonly over: Expression;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    };
