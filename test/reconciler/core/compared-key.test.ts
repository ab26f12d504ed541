// What a text means depends on its key, wherever the object has it: names and free texts are compared exactly.
import { describe, expect, test } from 'vitest';
import { diffObject } from '../../../reconciler/core/diff/diff.ts';
import { comparedKey } from '../../../reconciler/core/documents/compared-key.ts';
import { coreKind } from '../../../reconciler/core/kinds/index.ts';
import { parseIgnore } from '../../../reconciler/core/ownership/ignored-paths.ts';
import { hashOf } from '../../../reconciler/core/ownership/owner-records.ts';

test.each([
  ['devices.root.pool', ['devices', 'root', 'pool'], 'pool'],
  ['config.limits.memory', ['config', 'limits.memory'], 'limits.memory'],
  ['properties.os', ['properties', 'os'], 'properties.os'],
  ['description', ['description'], 'description'],
  ['devices.root', ['devices', 'root'], 'root'],
])('%s is compared by its key alone', (_text, path, key) => {
  expect(comparedKey(path)).toBe(key);
});

describe('the hash of a value', () => {
  const isEqual = (path: readonly string[], one: string, other: string): boolean =>
    hashOf((text) => text, path, one) === hashOf((text) => text, path, other);

  test.each([
    [['devices', 'root', 'pool'], '01', '1', false],
    [['devices', 'eth0', 'parent'], '0x1', ' 0x1', false],
    [['devices', 'data', 'path'], 'on', 'true', false],
    [['properties', 'os'], 'on', 'true', false],
    [['devices', 'root', 'size'], '1GiB', '1024MiB', true],
    [['devices', 'user', 'size'], '1GiB', '1024MiB', true],
    [['config', 'limits.memory'], '1GiB', '1024MiB', true],
  ])('%j: %s and %s are equal: %s', (path, one, other, expected) => {
    expect(isEqual(path, one, other)).toBe(expected);
  });
});

test('properties of an image are free text in a plan', () => {
  const live = { public: false, auto_update: false, properties: { os: 'on' } };
  const { changes } = diffObject(coreKind('image'), { properties: { os: 'true' } }, live, parseIgnore([]));
  expect(changes.map(({ path }) => path)).toEqual(['properties.os']);
});
