// Computes each value of a module once; a value that depends on itself is reported as a problem.
import type { Piece } from '../config/blocks.ts';
import { ExpressionError } from '../expression/syntax.ts';
import { ConversionError, unknown, type Value } from '../expression/values.ts';
import type { Problem } from '../problem.ts';
import type { Code } from '../unsupported.ts';
import type { Context, EvaluationState } from './instance.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export class Memo {
  readonly #shared: EvaluationState;
  readonly #address: string;
  readonly #values = new Map<string, Value>();

  constructor(shared: EvaluationState, address: string) {
    this.#shared = shared;
    this.#address = address;
  }

  /** The value under the key, computed at its first use. */
  value(key: string, place: Pick<Piece, 'file' | 'steps'>, make: () => Value): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = orUnknown(this.once(key, place, make));
    this.#values.set(key, value);
    return value;
  }

  /** Undefined, with a problem, when the value depends on itself. */
  once<T>(name: string, place: Pick<Piece, 'file' | 'steps'>, make: () => T): T | undefined {
    const { busy } = this.#shared;
    const key = name.startsWith(this.#address) ? name : `${this.#address}${name}`;
    const at = busy.indexOf(key);
    if (at >= 0) {
      this.refuse('E_CYCLE', `a circle of references: ${[...busy.slice(at), key].join(' -> ')}`, place);
      return undefined;
    }
    busy.push(key);
    try {
      return make();
    } finally {
      busy.pop();
    }
  }

  /** `isSecret`: the expression has a sensitive value, which messages about values may quote. */
  fail(
    error: unknown,
    place: Context['place'],
    { isSecret, ...more }: { isSecret: boolean; expression?: string },
  ): void {
    if (error instanceof ConversionError) return this.refuse('E_BIG_NUMBER', error.message, place);
    if (!(error instanceof ExpressionError)) throw error;
    const { code, message, span } = error;
    const isAboutValues = code === 'E_VALUE' || code === 'E_TYPE';
    const hidden = 'it cannot be evaluated; the reason is hidden, since a value is sensitive';
    this.refuse(code, isSecret && isAboutValues ? hidden : message, place, { ...more, offset: span.start });
  }

  refuse(code: Code, message: string, { file, steps, construct }: Context['place'], more: Partial<Problem> = {}): void {
    this.#shared.report({ code, message, file, steps, ...withoutUndefined({ construct }), ...more });
  }
}

/** Null is a value. */
export const orUnknown = (value: Value | undefined): Value => (value === undefined ? unknown : value);
