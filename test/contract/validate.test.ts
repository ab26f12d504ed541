// Body validation agrees with typebox, and has readable messages.
import * as fc from 'fast-check';
import { Type, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../server/api/endpoints/endpoint-table.ts';
import { nearestName } from '../../server/api/text/nearest-word.ts';
import { validateBody, withoutNulls } from '../../server/api/schema/validate-json.ts';

const Body = Type.Object({
  name: Type.String({ minLength: 2, maxLength: 5 }),
  config: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
  devices: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.String()))),
  profiles: Type.Optional(Type.Array(Type.String(), { maxItems: 2 })),
  timeout: Type.Optional(Type.Integer({ minimum: -1, maximum: 10 })),
  mode: Type.Optional(Type.Union([Type.Literal('pull'), Type.Literal('push')])),
});

const one = (value: unknown) => validateBody(Body, value)[0];

describe('body validation', () => {
  test.each([
    ['a string', '', 'must be an object, is a string'],
    [null, '', 'must be an object, is null'],
    [[], '', 'must be an object, is an array'],
    [{}, 'name', 'is required'],
    [{ name: 5 }, 'name', 'must be a string, is the number 5'],
    [{ name: 'a' }, 'name', 'must have at least 2 characters, has 1'],
    [{ name: 'abcdef' }, 'name', 'must have at most 5 characters, has 6'],
    [{ name: 'ok', config: { 'limits.cpu': 2 } }, 'config.limits.cpu', 'must be a string, is the number 2'],
    [{ name: 'ok', config: [] }, 'config', 'must be an object or null, is an array'],
    [{ name: 'ok', devices: { eth0: { parent: true } } }, 'devices.eth0.parent', 'must be a string, is a boolean'],
    [{ name: 'ok', profiles: ['a', 1] }, 'profiles.1', 'must be a string, is the number 1'],
    [{ name: 'ok', profiles: ['a', 'b', 'c'] }, 'profiles', 'must have at most 2 elements, has 3'],
    [{ name: 'ok', timeout: 1.5 }, 'timeout', 'must be an integer, is a number with a fraction'],
    [{ name: 'ok', timeout: 11 }, 'timeout', 'must be at most 10, is 11'],
    [{ name: 'ok', timeout: -2 }, 'timeout', 'must be at least -1, is -2'],
    [{ name: 'ok', mode: 'pul' }, 'mode', 'must be "pull" or "push", is a string'],
  ])('%j is refused at %j: %s', (value, path, message) => {
    expect(one(value)).toMatchObject({ path, message });
  });

  test('matching values pass, absent members too', () => {
    expect(validateBody(Body, { name: 'ok', config: null, timeout: 3, mode: 'push' })).toEqual([]);
    expect(validateBody(Body, { name: 'ok', config: undefined })).toEqual([]);
    for (const timeout of [-1, 10]) expect(validateBody(Body, { name: 'abcde', timeout })).toEqual([]);
    expect(validateBody(Type.Unknown(), { anything: [1, null] })).toEqual([]);
  });

  test('null stands for a member that is left out, in objects of lists, too', () => {
    const Rule = Type.Object({ action: Type.String(), port: Type.Optional(Type.String()) });
    const Rules = Type.Object({ rules: Type.Array(Rule) });
    const sent = { rules: [{ action: 'drop', port: null }, { action: null }, null] };
    expect(withoutNulls(Rules, sent)).toEqual({ rules: [{ action: 'drop' }, { action: null }, null] });
  });

  test('every problem is collected', () => {
    expect(validateBody(Body, { config: { a: 1, b: 2 }, timeout: 'x' }).map((problem) => problem.path)).toEqual([
      'name',
      'config.a',
      'config.b',
      'timeout',
    ]);
  });

  test('unknown members are ignored, or reported with the nearest name on request', () => {
    expect(validateBody(Body, { name: 'ok', profile: [] })).toEqual([]);
    expect(validateBody(Body, { name: 'ok', profile: [] }, { unknownKeys: 'report' })).toEqual([
      {
        path: 'profile',
        message: 'is not a known member (did you mean profiles?)',
        code: 'unknownMember',
        near: 'profiles',
      },
    ]);
    const Closed = Type.Object({ a: Type.String() }, { additionalProperties: false });
    expect(validateBody(Closed, { a: 'x', b: 1 })).toEqual([
      { path: 'b', message: 'is not a known member', code: 'unknownMember' },
    ]);
    const Both = Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]);
    expect(validateBody(Both, { a: 'x', b: 'y' }, { unknownKeys: 'report' })).toEqual([]);
    expect(validateBody(Both, { a: 'x' })).toEqual([{ path: 'b', message: 'is required', code: 'missing' }]);
  });

  test('members named like those of every object are handled like any other', () => {
    expect(validateBody(Type.Object({ toString: Type.String() }), {})).toHaveLength(1);
    expect(validateBody(Body, JSON.parse('{"name":"ok","__proto__":1,"constructor":2}'))).toEqual([]);
    expect(validateBody(Type.Record(Type.String(), Type.String()), JSON.parse('{"__proto__":1}'))).toHaveLength(1);
  });

  test('messages never repeat the text they refuse', () => {
    expect(
      JSON.stringify(validateBody(Type.Object({ password: Type.Integer() }), { password: 'hunter2' })),
    ).not.toContain('hunter2');
  });
});

const schemas: [string, TSchema][] = [
  ['a body of every feature', Body],
  ...endpoints.flatMap((row): [string, TSchema][] => (row.body === undefined ? [] : [[`body of ${row.id}`, row.body]])),
  ...endpoints.flatMap((row): [string, TSchema][] =>
    row.result === undefined ? [] : [[`result of ${row.id}`, row.result]],
  ),
];

const timestamps = fc
  .date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-01-01') })
  .map((date) => date.toISOString());
const oddTimestamps = fc.constantFrom(
  '2024-02-29T00:00:00+01:00',
  '2023-02-29T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2024-13-01T00:00:00Z',
  '2024-04-31T00:00:00Z',
  '2024-01-01T24:00:00Z',
  '2024-01-01T00:00:00',
  '2024-01-01T00:00:00.123456789-23:59',
  '',
);

/** `wrong`: the percentage of values with a random type, and of omitted members. */
function values(schema: TSchema, wrong: number): fc.Arbitrary<unknown> {
  const right = fitting(schema as unknown as Record<string, unknown>, wrong);
  return fc.oneof(
    { weight: 100 - wrong, arbitrary: right },
    { weight: wrong, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

function fitting(schema: Record<string, unknown>, wrong: number): fc.Arbitrary<unknown> {
  if ('anyOf' in schema) return fc.oneof(...(schema['anyOf'] as TSchema[]).map((part) => values(part, wrong)));
  if ('allOf' in schema) {
    const parts = (schema['allOf'] as Record<string, unknown>[]).map((part) => fitting(part, wrong));
    return fc.tuple(...parts).map((objects) => Object.assign({}, ...objects) as unknown);
  }
  if ('const' in schema) return fc.constant(schema['const']);
  switch (schema['type']) {
    case 'object':
      return objects(schema, wrong);
    case 'array':
      return fc.array(values(schema['items'] as TSchema, wrong), {
        minLength: wrong === 0 ? Number(schema['minItems'] ?? 0) : 0,
        maxLength: 2,
      });
    case 'integer':
      return wrong === 0 ? fc.integer({ min: 0, max: 9 }) : fc.integer();
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      if (schema['format'] === 'date-time') return wrong === 0 ? timestamps : fc.oneof(timestamps, oddTimestamps);
      return wrong === 0
        ? fc.string({ minLength: 2, maxLength: 5, unit: 'grapheme-ascii' })
        : fc.string({ maxLength: 8 });
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objects(schema: Record<string, unknown>, wrong: number): fc.Arbitrary<unknown> {
  const rest = Object.values((schema['patternProperties'] ?? {}) as Record<string, TSchema>)[0];
  if (rest !== undefined) return fc.dictionary(fc.string({ maxLength: 8 }), values(rest, wrong), { maxKeys: 3 });
  const members = Object.entries((schema['properties'] ?? {}) as Record<string, TSchema>);
  const record = Object.fromEntries(members.map(([name, member]) => [name, values(member, wrong)]));
  return wrong === 0 ? fc.record(record) : fc.record(record, { requiredKeys: [] });
}

describe('body validation agrees with typebox', () => {
  test('there are schemas to compare', () => expect(schemas.length).toBeGreaterThan(40));
  test.each(schemas)('%s: the same values pass', (_name, schema) => {
    fc.assert(
      fc.property(fc.oneof(values(schema, 0), values(schema, 5)), (value) => {
        expect(validateBody(schema, value).length === 0).toBe(Value.Check(schema, value));
      }),
      { numRuns: 150 },
    );
  });
  test.each(schemas)('%s: generated valid values pass', (_name, schema) => {
    fc.assert(
      fc.property(values(schema, 0), (value) => {
        expect(validateBody(schema, value)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

describe('nearest names', () => {
  test.each([
    ['limits.memroy', 'limits.memory'],
    ['LIMITS_CPU', 'limits.cpu'],
    ['limit.cpu', 'limits.cpu'],
    ['something else', undefined],
    ['', undefined],
    ['x', undefined],
  ])('the nearest name to %j is %s', (word, expected) => {
    expect(nearestName(word, ['limits.cpu', 'limits.memory', 'boot.autostart'])).toBe(expected);
  });
});
