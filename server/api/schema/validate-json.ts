// Checks a JSON value against a schema and lists every mismatch; neither parses nor coerces. Interprets only the keywords that our schemas
// use: compiled validators would cost start-up time and memory.
import type { TSchema } from 'typebox';
import { maxProblems, unknownName, type Problem, type ProblemCode } from '../problem.ts';
import { isTimestamp } from '../text/timestamp.ts';
import { shown } from '../text/value-checks.ts';

export interface ValidateOptions {
  /** Members unknown to the schema: ignored (clients send leftovers), or reported with the nearest name. */
  readonly unknownKeys?: 'ignore' | 'report';
}

interface Keywords {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Keywords[];
  readonly allOf?: readonly Keywords[];
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Keywords>>;
  readonly additionalProperties?: boolean | Keywords;
  readonly items?: Keywords;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** Only date-time is checked. */
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Walk {
  readonly problems: Problem[];
  readonly report: boolean;
}

/** Empty if the value fits. Paths join members with dots and count list items from 0: `devices.eth0.parent`. */
export function validateBody(schema: TSchema, value: unknown, options: ValidateOptions = {}): Problem[] {
  const problems: Problem[] = [];
  visit(schema, value, '', { problems, report: options.unknownKeys === 'report' });
  return problems;
}

/** The value without null members that its schema neither requires nor allows as null: Go clients send null for absent members. */
export function withoutNulls(schema: Keywords, value: unknown): unknown {
  const { items } = schema;
  if (items !== undefined && Array.isArray(value)) return value.map((item) => withoutNulls(items, item));
  if (schema.properties === undefined || !hasType('object', value)) return value;
  const members = Object.entries(value as Readonly<Record<string, unknown>>).flatMap(([name, member]) => {
    const known = schema.properties?.[name];
    if (known === undefined) return [[name, member] as const];
    const isLeftOut = member === null && !(schema.required?.includes(name) ?? false) && !takesNull(known);
    return isLeftOut ? [] : [[name, withoutNulls(known, member)] as const];
  });
  return Object.fromEntries(members);
}

const takesNull = (schema: Keywords): boolean => {
  const problems: Problem[] = [];
  visit(schema, null, '', { problems, report: false });
  return problems.length === 0;
};

function visit(schema: Keywords, value: unknown, path: string, walk: Walk): void {
  if (schema.anyOf !== undefined) return visitUnion(schema.anyOf, value, path, walk);
  if (schema.allOf !== undefined) return visitIntersection(schema.allOf, value, path, walk);
  if ('const' in schema || schema.enum !== undefined) {
    const allowed = 'const' in schema ? [schema.const] : (schema.enum ?? []);
    if (!allowed.includes(value)) addWrongType(walk, path, listed(allowed.map(literal)), value);
    return;
  }
  if (schema.type !== undefined && !hasType(schema.type, value)) {
    return addWrongType(walk, path, article(schema.type), value);
  }
  if (typeof value === 'string') visitString(schema, value, path, walk);
  else if (typeof value === 'number') visitNumber(schema, value, path, walk);
  else if (Array.isArray(value)) visitArray(schema, value, path, walk);
  else if (value !== null && typeof value === 'object') visitObject(schema, value, path, walk);
}

function visitString(schema: Keywords, value: string, path: string, walk: Walk): void {
  const length = schema.minLength === undefined && schema.maxLength === undefined ? 0 : characters(value);
  if (schema.minLength !== undefined && length < schema.minLength) {
    add(walk, path, `must have at least ${schema.minLength} characters, has ${length}`);
  }
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    add(walk, path, `must have at most ${schema.maxLength} characters, has ${length}`);
  }
  if (schema.pattern !== undefined && !pattern(schema.pattern).test(value)) {
    add(walk, path, `must match ${schema.pattern}, is ${shown(value)}`);
  }
  if (schema.format === 'date-time' && !isTimestamp(value)) {
    add(walk, path, `must be a timestamp such as 2030-01-31T12:00:00Z, is ${shown(value)}`);
  }
}

function visitNumber(schema: Keywords, value: number, path: string, walk: Walk): void {
  if (schema.minimum !== undefined && value < schema.minimum) {
    add(walk, path, `must be at least ${schema.minimum}, is ${value}`);
  }
  if (schema.maximum !== undefined && value > schema.maximum) {
    add(walk, path, `must be at most ${schema.maximum}, is ${value}`);
  }
}

function visitArray(schema: Keywords, value: readonly unknown[], path: string, walk: Walk): void {
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    add(walk, path, `must have at least ${schema.minItems} elements, has ${value.length}`);
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    add(walk, path, `must have at most ${schema.maxItems} elements, has ${value.length}`);
  }
  const items = schema.items;
  if (items !== undefined) value.forEach((item, index) => visit(items, item, join(path, String(index)), walk));
}

function visitObject(schema: Keywords, value: object, path: string, walk: Walk): void {
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(members, name)) add(walk, join(path, name), 'is required', 'missing');
  }
  for (const [name, member] of Object.entries(members)) {
    if (walk.problems.length >= maxProblems) return;
    const known = memberSchema(schema, name);
    // undefined cannot come from JSON; callers in TypeScript use it for "absent".
    if (typeof known === 'object') {
      if (member !== undefined || (schema.required?.includes(name) ?? false))
        visit(known, member, join(path, name), walk);
    } else if (known === false || (walk.report && schema.properties !== undefined)) {
      const names = Object.keys(schema.properties ?? {});
      walk.problems.push(
        unknownName('unknownMember', join(path, name), name, names, (hint) => `is not a known member${hint}`),
      );
    }
  }
}

/** true: any value; false: not allowed; undefined: the schema has no rule. */
function memberSchema(schema: Keywords, name: string): Keywords | boolean | undefined {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, name)) return schema.properties[name];
  for (const [source, member] of Object.entries(schema.patternProperties ?? {})) {
    if (source === '^.*$' || pattern(source).test(name)) return member;
  }
  return schema.additionalProperties;
}

/** The problems of the closest alternative: the one whose type fits, else all types in one sentence. */
function visitUnion(alternatives: readonly Keywords[], value: unknown, path: string, walk: Walk): void {
  if (alternatives.some((one) => isTypeOnly(one) && hasType(one.type ?? '', value))) return;
  let closest: Problem[] | undefined;
  for (const alternative of alternatives) {
    const problems: Problem[] = [];
    visit(alternative, value, path, { ...walk, problems });
    if (problems.length === 0) return;
    if (
      typeFits(alternative, value) &&
      !('const' in alternative) &&
      (closest === undefined || problems.length < closest.length)
    ) {
      closest = problems;
    }
  }
  if (closest !== undefined) walk.problems.push(...closest);
  else addWrongType(walk, path, listed(alternatives.map(named)), value);
}

/** A schema with only a type: the most common alternatives, such as a text or a number. */
const isTypeOnly = (schema: Keywords): boolean =>
  schema.type !== undefined && Object.keys(schema).every((key) => key === 'type' || key.startsWith('~'));

/** Only words can be near misses in a list of words. */
function typeFits({ type, enum: words }: Keywords, value: unknown): boolean {
  if (words !== undefined) return words.some((word) => typeof word === typeof value);
  return type === undefined || hasType(type, value);
}

function visitIntersection(parts: readonly Keywords[], value: unknown, path: string, walk: Walk): void {
  const objects = parts.every((part) => part.type === 'object' && part.properties !== undefined);
  if (!objects) {
    for (const part of parts) visit(part, value, path, walk);
    return;
  }
  // As one object, so that no part reports the members of another.
  const properties: Record<string, Keywords> = {};
  for (const part of parts) {
    for (const [name, member] of Object.entries(part.properties ?? {})) {
      const before = properties[name];
      properties[name] = before === undefined ? member : { allOf: [before, member] };
    }
  }
  const required = parts.flatMap((part) => part.required ?? []);
  const closed = parts.some((part) => part.additionalProperties === false);
  visit(
    { type: 'object', properties, required, ...(closed ? { additionalProperties: false } : {}) },
    value,
    path,
    walk,
  );
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return value !== null && typeof value === 'object' && !Array.isArray(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function add({ problems }: Walk, path: string, message: string, code?: ProblemCode): void {
  if (problems.length < maxProblems) problems.push(code === undefined ? { path, message } : { path, message, code });
}

function addWrongType({ problems }: Walk, path: string, expected: string, value: unknown): void {
  if (problems.length >= maxProblems) return;
  problems.push({ path, message: `must be ${expected}, is ${described(value)}`, code: 'wrongType', expected });
}

const join = (path: string, member: string): string => (path === '' ? member : `${path}.${member}`);
const listed = (words: readonly string[]): string => [...new Set(words)].join(' or ');
const literal = (value: unknown): string => (typeof value === 'string' ? shown(value) : String(value));
const named = (schema: Keywords): string =>
  schema.enum !== undefined
    ? listed(schema.enum.map(literal))
    : 'const' in schema
      ? literal(schema.const)
      : schema.type === undefined
        ? 'another form'
        : article(schema.type);

function article(type: string): string {
  if (type === 'null') return 'null';
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** Describes a value without repeating text that may be long or secret. */
function described(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? `the number ${value}` : 'a number with a fraction';
  return article(typeof value);
}

/** Unicode characters, as JSON Schema counts them. */
function characters(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

const patterns = new Map<string, RegExp>();

/** Sources come from our own schemas, so the cache stays small. */
function pattern(source: string): RegExp {
  let compiled = patterns.get(source);
  if (compiled === undefined) {
    compiled = new RegExp(source, 'u');
    patterns.set(source, compiled);
  }
  return compiled;
}
