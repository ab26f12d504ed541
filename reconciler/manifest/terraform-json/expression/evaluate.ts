// Evaluates an expression in a scope, as Terraform does. It knows no resources: the scope resolves names.
import { attributes, fail, index } from './access.ts';
import { callFunction, isLazyFunction, type FunctionContext } from './functions/table.ts';
import { binary, unary } from './operators.ts';
import { parseTemplate } from './parse.ts';
import type { FileReader } from './functions/file-reader.ts';
import { ExpressionError, type Expression, type RefusalCode, type Span } from './syntax.ts';
import { isSequence, sequenceConversion, unify } from './unify.ts';
import {
  composed,
  ConversionError,
  elementsOf,
  has,
  isList,
  isSet,
  isUniform,
  joinTexts,
  mapFrom,
  toBool,
  toText,
  typeName,
  uniform,
  unknown,
  type Unknown,
  type Value,
  type ValueMap,
} from './values.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface Scope {
  /** The files that functions may read; without it functions that read files are refused. */
  readonly files?: FileReader;
  /** Refuses function calls and loops: texts that are evaluated without a limit of time. */
  readonly isConstant?: true;
  /** Inside of templatefile() there is no templatefile(). */
  readonly isTemplate?: true;
  /**
   * The value of `var.x`, `local.y`, `gantry_network.web`: gets all names of the reference and returns how many it used. Undefined:
   * the name does not exist. May throw ExpressionError.
   */
  resolve(names: readonly string[], span: Span): { readonly value: Value; readonly used: number } | undefined;
}

/** No hand-written configuration has more elements. */
const maxElements = 100_000;

/** What an expression may refer to. */
interface Surroundings {
  readonly scope: Scope;
  /** Names of for expressions. */
  readonly locals: ReadonlyMap<string, Value>;
  readonly element?: Value;
}

/** Throws ExpressionError, with the place inside the text. */
export function evaluate(expression: Expression, scope: Scope): Value {
  return valueOf(expression, { scope, locals: new Map() });
}

function valueOf(expression: Expression, place: Surroundings): Value {
  try {
    return compute(expression, place);
  } catch (error) {
    if (error instanceof ConversionError) throw fail('E_TYPE', error.message, expression);
    throw error;
  }
}

function compute(expression: Expression, place: Surroundings): Value {
  switch (expression.type) {
    case 'literal':
      return expression.value;
    case 'template':
      return template(expression, place);
    case 'joined':
      return joined(expression.list, place);
    case 'name':
    case 'attribute':
      return reference(expression, place);
    case 'index':
      return index(valueOf(expression.object, place), valueOf(expression.key, place), expression);
    case 'splat':
      return splat(expression, place);
    case 'element':
      return place.element ?? null;
    case 'call':
      return call(expression, place);
    case 'not':
    case 'negative':
      return unary(expression.type, valueOf(expression.operand, place));
    case 'binary':
      return binary(expression.operator, valueOf(expression.left, place), valueOf(expression.right, place));
    case 'if':
      return conditional(expression, place);
    case 'list':
      return expression.items.map((item) => valueOf(item, place));
    case 'object':
      return object(expression, place);
    case 'for-list':
    case 'for-object':
    default:
      return forExpression(expression, place);
  }
}

function template({ parts, isText }: Expression & { readonly type: 'template' }, place: Surroundings): Value {
  const [only] = parts;
  if (isText !== true && parts.length === 1 && only !== undefined && typeof only !== 'string')
    return valueOf(only, place);
  const texts = parts.map((part): string | Unknown => {
    if (typeof part === 'string') return part;
    const text = toText(valueOf(part, place));
    if (text === null) throw fail('E_VALUE', 'null cannot be part of a text', part);
    return text;
  });
  return texts.includes(unknown) ? unknown : composed(joinTexts(texts.map(String), ''));
}

function joined(list: Expression, place: Surroundings): Value {
  const items = valueOf(list, place);
  if (!isList(items) || items.includes(unknown)) return unknown;
  return joinTexts(
    items.map((item) => String(toText(item) ?? '')),
    '',
  );
}

/** The scope resolves a whole reference: `gantry_container.web.name` is one name there. */
function reference(expression: Expression, place: Surroundings): Value {
  const names: string[] = [];
  let at: Expression = expression;
  while (at.type === 'attribute') {
    names.unshift(at.name);
    at = at.object;
  }
  if (at.type !== 'name') return attributes(valueOf(at, place), names, expression);
  const local = place.locals.get(at.name);
  if (local !== undefined) return attributes(local, names, expression);
  const found = place.scope.resolve([at.name, ...names], expression);
  if (found === undefined) throw fail('E_REFERENCE', `there is no ${[at.name, ...names].join('.')}`, expression);
  return attributes(found.value, [at.name, ...names].slice(found.used), expression);
}

function splat(expression: Expression & { readonly type: 'splat' }, place: Surroundings): Value {
  const object = valueOf(expression.object, place);
  if (object === unknown) return unknown;
  if (object === null) return [];
  const items = isList(object) ? object : isSet(object) ? object.items : [object];
  const results = items.map((element) => valueOf(expression.each, { ...place, element }));
  return isUniform(object) || isSet(object) ? uniform(results) : results;
}

function call(expression: Expression & { readonly type: 'call' }, place: Surroundings): Value {
  const { name, args } = expression;
  if (place.scope.isConstant === true)
    throw fail('E_FUNCTION', `${name}(): no function may be called here`, expression);
  if (!isLazyFunction(name)) {
    const values = argumentsOf(expression, place);
    if (values === unknown) return unknown;
    return callFunction(name, values, expression, contextOf(place.scope));
  }
  for (const arg of args) {
    try {
      const value = valueOf(arg, place);
      return name === 'can' ? true : value;
    } catch (error) {
      if (!(error instanceof ExpressionError) || !mayBeTried(error.code)) throw error;
    }
  }
  if (name === 'can') return false;
  throw fail('E_VALUE', 'none of the expressions in try() can be evaluated', expression);
}

function contextOf({ files, isTemplate }: Scope): FunctionContext {
  const render = (source: string, variables: ValueMap): Value => {
    if (isTemplate === true) throw new ConversionError('a template cannot render another one');
    const scope: Scope = {
      ...withoutUndefined({ files }),
      isTemplate: true,
      resolve: ([name = '']) => (has(variables, name) ? { value: variables[name] ?? null, used: 1 } : undefined),
    };
    try {
      return evaluate(parseTemplate(source), scope);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      const line = source.slice(0, error.span.start).split('\n').length;
      throw new ConversionError(`line ${line} of the template: ${error.message}`);
    }
  };
  return { ...withoutUndefined({ files }), render };
}

function argumentsOf(
  { args, isExpanded }: Expression & { readonly type: 'call' },
  place: Surroundings,
): readonly Value[] | Unknown {
  const values = args.map((arg) => valueOf(arg, place));
  const last = values.at(-1) ?? null;
  if (isExpanded !== true) return values;
  if (last === unknown) return unknown;
  const items = itemsOf(last);
  if (items === undefined) throw new ConversionError(`a list is wanted before ..., not ${typeName(last)}`);
  return [...values.slice(0, -1), ...items];
}

/** try() does not hide errors of the language itself and unsupported features. */
const mayBeTried = (code: RefusalCode): boolean => code === 'E_VALUE' || code === 'E_TYPE';

function conditional({ condition, yes, no }: Expression & { readonly type: 'if' }, place: Surroundings): Value {
  const truth = toBool(valueOf(condition, place));
  if (truth === null) throw fail('E_VALUE', 'the condition is null', condition);
  const attempt = (branch: Expression): { readonly value: Value } | { readonly error: unknown } => {
    try {
      return { value: valueOf(branch, place) };
    } catch (error) {
      return { error };
    }
  };
  const [positive, negative] = [attempt(yes), attempt(no)];
  const chosen = truth === true ? positive : negative;
  if (truth === unknown) return unknown;
  if ('error' in chosen) throw chosen.error;
  const other = truth ? negative : positive;
  // Only the type of the other branch matters, which is unknown if it cannot be evaluated.
  if ('error' in other) return chosen.value;
  const results: readonly Value[] = [chosen.value, other.value];
  // The elements of the other result are not converted, so they need not fit.
  if (results.every(isSequence) && results.some(isSet)) return sequenceConversion(results)(chosen.value);
  return unify(results)[0] ?? null;
}

const itemsOf = (value: Value): readonly Value[] | undefined =>
  isSet(value) ? value.items : isList(value) ? value : undefined;

function object({ items }: Expression & { readonly type: 'object' }, place: Surroundings): Value {
  const entries: [string, Value][] = [];
  for (const { key, value } of items) {
    const name = toText(valueOf(key, place));
    if (name === unknown) return unknown;
    if (name === null) throw fail('E_VALUE', 'the key of an object is null', key);
    entries.push([name, valueOf(value, place)]);
  }
  return mapFrom(entries);
}

function forExpression(
  expression: Expression & { readonly type: 'for-list' | 'for-object' },
  place: Surroundings,
): Value {
  const { clause } = expression;
  if (place.scope.isConstant === true) throw fail('E_FUNCTION', 'no for expression may stand here', expression);
  const from = valueOf(clause.from, place);
  if (from === unknown) return unknown;
  const elements = elementsOf(from);
  if (elements === undefined) throw fail('E_TYPE', `${typeName(from)} cannot be gone through`, clause.from);
  if (elements.length > maxElements) throw fail('E_VALUE', `more than ${maxElements} elements`, clause.from);
  const results: Value[] = [];
  const entries = new Map<string, Value>();
  const groups = new Map<string, Value[]>();
  for (const [key, value] of elements) {
    const locals = new Map(place.locals);
    if (clause.key !== undefined) locals.set(clause.key, key);
    locals.set(clause.value, value);
    const inner = { ...place, locals };
    const isWanted = clause.condition === undefined ? true : toBool(valueOf(clause.condition, inner));
    if (isWanted === unknown) return unknown;
    if (isWanted === null) throw fail('E_VALUE', 'the condition is null', expression);
    if (!isWanted) continue;
    if (expression.type === 'for-list') results.push(valueOf(expression.result, inner));
    else {
      const name = toText(valueOf(expression.key, inner));
      if (name === unknown) return unknown;
      if (name === null) throw fail('E_VALUE', 'the key of an object is null', expression.key);
      if (expression.isGrouped === true) {
        const group = groups.get(name) ?? [];
        groups.set(name, group);
        entries.set(name, group);
        group.push(valueOf(expression.value, inner));
        continue;
      }
      if (entries.has(name)) throw fail('E_VALUE', `the key ${JSON.stringify(name)} comes twice`, expression.key);
      entries.set(name, valueOf(expression.value, inner));
    }
  }
  return expression.type === 'for-list' ? results : mapFrom(entries);
}
