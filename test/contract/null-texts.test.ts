// Null as a value in maps of texts.
import type { TSchema } from 'typebox';
import { expect, test } from 'vitest';
import { ContainerPut } from '../../server/api/container/container.ts';
import { ServerPut } from '../../server/api/server/server.ts';
import { withEmptyTexts } from '../../server/api/schema/null-texts.ts';

test.each([
  ['a key of the config', { config: { 'user.a': null, 'user.b': 'x' } }, { config: { 'user.a': '', 'user.b': 'x' } }],
  ['a key named like a member of objects', { config: { constructor: null } }, { config: { constructor: '' } }],
  [
    'a property of a device',
    { devices: { d: { type: 'none', path: null } } },
    { devices: { d: { type: 'none', path: '' } } },
  ],
])('null for %s becomes the empty text', (_what, sent, expected) => {
  expect(withEmptyTexts(ContainerPut, sent)).toEqual(expected);
});

test.each([
  [{ config: null, devices: null, description: null, profiles: null, other: { a: null } }],
  [{ devices: { d: null } }],
  [{ profiles: [null] }],
  [null],
  ['text'],
  [[null]],
])('everything else stays: %j', (sent) => {
  expect(withEmptyTexts(ContainerPut, sent)).toEqual(sent);
});

test('null stays in a map of any values', () => {
  const schema: TSchema = ServerPut;
  expect(withEmptyTexts(schema, { config: { a: null } })).toEqual({ config: { a: null } });
});
