// The value of a variable: given or default, converted to its type, checked by its rules.
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Json } from '../../../core/documents/document.ts';
import { listOf, moduleArguments, type ModuleCall, type Piece } from '../config/blocks.ts';
import { evaluate, type Scope } from '../expression/evaluate.ts';
import { fromJson } from '../expression/json-text.ts';
import { parseExpression, parseTemplate } from '../expression/parse.ts';
import { ExpressionError } from '../expression/syntax.ts';
import { composed, ConversionError, isWhole, toBool, toText, type Value } from '../expression/values.ts';
import { readType } from './type-constraint.ts';

/** A given value: a text of the command line, a value of a file, or an argument of a module block. */
export type VariableSetting = { readonly text: string } | { readonly json: Json } | { readonly value: Value };

/** Undefined: it has no value. Throws ConversionError and ExpressionError, without the value if it `isSecret`. */
export function readVariable(piece: Piece, given: VariableSetting | undefined, isSecret: boolean): Value | undefined {
  const { type, default: fallback, nullable } = piece.body;
  const convert = readType(typeof type === 'string' ? type : 'any');
  const read = (): Value | undefined => {
    const raw = given === undefined ? undefined : rawValue(given, type);
    // Null for a non-nullable variable means its default.
    const isLeftOut = raw === undefined || (raw === null && nullable === false && fallback !== undefined);
    if (isLeftOut && fallback === undefined) return undefined;
    return convert(isLeftOut ? fromJson(fallback) : raw);
  };
  const value = isSecret ? withoutValue(read) : read();
  if (value === null && nullable === false) throw new ConversionError('null is not allowed');
  return value;
}

function withoutValue<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConversionError || error instanceof ExpressionError)) throw error;
    throw new ConversionError('its value, which is sensitive, does not have its type');
  }
}

function rawValue(given: VariableSetting, type: Json | undefined): Value {
  if ('value' in given) return given.value;
  if ('json' in given) return fromJson(given.json);
  return takesTexts(type) ? composed(given.text) : literalValue(given.text);
}

/** Texts from outside are texts for these; for others they are expressions without names. */
const takesTexts = (type: Json | undefined): boolean =>
  type === undefined || (typeof type === 'string' && /^(?:\$\{)?\s*(?:string|number|bool)\s*\}?$/.test(type));

const nothing: Scope = { resolve: () => undefined, isConstant: true };

function literalValue(text: string): Value {
  try {
    return evaluate(parseExpression(text), nothing);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ConversionError(`the value given is no expression: ${error.message}`);
  }
}

/** Checks the rules when the value is known. `isHidden`: whether a message has a sensitive value. Throws ConversionError. */
export function validateVariable(
  name: string,
  piece: Piece,
  value: Value,
  { outer, isHidden }: { readonly outer: Scope; readonly isHidden: (message: Json) => boolean },
): void {
  const scope: Scope = {
    ...outer,
    resolve: (names, span) =>
      names[0] === 'var' && names[1] === name ? { value, used: 2 } : outer.resolve(names, span),
  };
  if (!isWhole(value)) return;
  for (const rule of listOf(piece.body['validation'])) {
    const condition = typeof rule['condition'] === 'string' ? rule['condition'] : 'true';
    if (toBool(evaluate(parseTemplate(condition), scope)) !== false) continue;
    const message = rule['error_message'];
    const text =
      typeof message === 'string' && !isHidden(message) ? toText(evaluate(parseTemplate(message), scope)) : null;
    throw new ConversionError(typeof text === 'string' ? text : 'it breaks its rule');
  }
}

/** Arguments of a call that name no variable of the module. */
export const unknownArguments = (
  call: ModuleCall,
  variables: ReadonlyMap<string, unknown>,
): readonly { readonly name: string; readonly text: string }[] =>
  Object.keys(call.body)
    .filter((name) => !moduleArguments.has(name) && !variables.has(name))
    .map((name) => ({ name, text: `module.${call.name} has no variable ${name}${hint(name, [...variables.keys()])}` }));
