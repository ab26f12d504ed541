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
  const { changes } = diffObject(coreKind('image'), { properties: { os: 'true' } }, live, { ignore: parseIgnore([]) });
  expect(changes.map(({ path }) => path)).toEqual(['properties.os']);
});

test('a key that a server keeps its own value of is refused, since no plan would be empty; a hardware address is not', () => {
  const config = { 'volatile.uuid': 'a', 'volatile.idmap.base': '0', 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' };
  const problems = coreKind('container').validate({ config }, 'c1');
  const refused = problems.filter(({ message }) => message.startsWith('is kept by the server'));
  expect(refused.map(({ path }) => path)).toEqual(['config.volatile.uuid', 'config.volatile.idmap.base']);
});
