// The syntax tree of a Terraform expression or template, and the error for an invalid text with its place.

/** Offsets count UTF-16 units from the begin of the text that was parsed. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type Binary = '+' | '-' | '*' | '/' | '%' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '&&' | '||';

export interface ForClause {
  readonly key: string | undefined;
  readonly value: string;
  readonly from: Expression;
  readonly condition: Expression | undefined;
}

export interface ObjectItem {
  readonly key: Expression;
  readonly value: Expression;
}

export type Expression = Span &
  (
    | { readonly type: 'literal'; readonly value: string | number | boolean | null }
    /** Text and interpolations; one lone interpolation keeps the type of its value unless it `isText`. */
    | { readonly type: 'template'; readonly parts: readonly (string | Expression)[]; readonly isText?: true }
    /** The texts of a list, one after the other. */
    | { readonly type: 'joined'; readonly list: Expression }
    | { readonly type: 'name'; readonly name: string }
    | { readonly type: 'attribute'; readonly object: Expression; readonly name: string }
    | { readonly type: 'index'; readonly object: Expression; readonly key: Expression }
    /** `object[*].a.b`: `each` applies to every element, which `element` stands for. */
    | { readonly type: 'splat'; readonly object: Expression; readonly each: Expression }
    | { readonly type: 'element' }
    /** `isExpanded`: the last argument is a list of arguments. Names of providers' functions are `provider::gantry::parse_size`. */
    | { readonly type: 'call'; readonly name: string; readonly args: readonly Expression[]; readonly isExpanded?: true }
    | { readonly type: 'not' | 'negative'; readonly operand: Expression }
    | { readonly type: 'binary'; readonly operator: Binary; readonly left: Expression; readonly right: Expression }
    | { readonly type: 'if'; readonly condition: Expression; readonly yes: Expression; readonly no: Expression }
    | { readonly type: 'list'; readonly items: readonly Expression[] }
    | { readonly type: 'object'; readonly items: readonly ObjectItem[] }
    | { readonly type: 'for-list'; readonly clause: ForClause; readonly result: Expression }
    /** `isGrouped`: the values of equal keys become a list. */
    | {
        readonly type: 'for-object';
        readonly clause: ForClause;
        readonly key: Expression;
        readonly value: Expression;
        readonly isGrouped?: true;
      }
  );

/** Codes of unsupported features; each has a hint in unsupported.ts. */
export type RefusalCode =
  | 'E_SYNTAX'
  | 'E_PROVIDER_FUNCTION'
  | 'E_FUNCTION'
  | 'E_REFERENCE'
  | 'E_TYPE'
  | 'E_VALUE'
  | 'E_BIG_NUMBER';

export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly code: RefusalCode;
  readonly span: Span;
  constructor(code: RefusalCode, message: string, span: Span) {
    super(message);
    this.code = code;
    this.span = span;
  }
}
