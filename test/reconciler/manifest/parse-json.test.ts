// JSON with places: the values of JSON.parse, including numbers, and an error with a place for everything that Terraform refuses.
import { assert, jsonValue, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, parseText } from '../../../reconciler/manifest/text/parse-json.ts';

const valueOf = (text: string): unknown => parseJson(text).documents[0]?.value;
const problemOf = (text: string): readonly unknown[] =>
  parseJson(text).problems.map(({ code, offset }) => `${code} ${offset}`);

describe('JSON with places', () => {
  test('any JSON gives the same value as JSON.parse', () => {
    const value = jsonValue().map((json) => JSON.parse(JSON.stringify(json)) as unknown);
    assert(
      property(value, nat(3), (json, indent) => {
        const text = JSON.stringify({ value: json }, null, indent);
        const { documents, problems } = parseJson(text);
        const isHard = problems.length > 0 && problems.every(({ code }) => code !== 'malformed-json');
        if (!isHard) expect(documents[0]?.value).toEqual(JSON.parse(text));
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ['{"a": 1,}', 'malformed-json 8'],
    ['{"a": 1', 'malformed-json 7'],
    ['{"a" 1}', 'malformed-json 5'],
    ['{a: 1}', 'malformed-json 1'],
    ['{"a": tru}', 'malformed-json 6'],
    ['{"a": 01}', 'malformed-json 6'],
    ['{"a": "\n"}', 'malformed-json 6'],
    ['[1 2]', 'malformed-json 3'],
    ['{} {}', 'malformed-json 3'],
    ['', 'malformed-json 0'],
    ['{"a": 1, "a": 2}', 'duplicate-key 9'],
    ['{"__proto__": 1}', 'unknown-key 1'],
    ['{"a": 9007199254740993}', 'E_BIG_NUMBER 6'],
    ['{"a": 0.12345678901234567}', 'E_BIG_NUMBER 6'],
    ['['.repeat(70), 'too-deep 61'],
  ])('%j is refused at its place', (text, expected) => {
    expect(problemOf(text)).toEqual([expected]);
  });

  test('numbers are numbers, and a byte order mark is skipped', () => {
    expect(valueOf('\ufeff{"a": 1, "b": 0.1, "c": 1e3}')).toEqual({ a: 1, b: 0.1, c: 1000 });
  });

  test('paths lead to keys and values, also if keys contain dots', () => {
    const text = '{"resource": {"x": [{"config": {"limits.memory": "1GiB", "limits": {}}}]}}';
    const place = (path: string, part: 'key' | 'value'): string => {
      const { offset, length } = parseJson(text).documents[0]?.placeOf(path, part) ?? { offset: 0, length: 0 };
      return text.slice(offset, offset + length);
    };
    expect(place('resource.x.0.config.limits.memory', 'value')).toBe('"1GiB"');
    expect(place('resource.x.0.config.limits.memory', 'key')).toBe('"limits.memory"');
    expect(place('resource.x.0.config.gone', 'value')).toBe('"config"');
    expect(place('resource.x', 'value')).toBe('"x"');
  });

  test('a text without a name is Terraform JSON by its blocks, and YAML otherwise', () => {
    const file = '<stdin>';
    expect(parseText({ file, text: '{"resource": {"n": 1}}' }).documents[0]?.value).toEqual({ resource: { n: 1 } });
    // Manifests keep numbers as they are written.
    expect(parseText({ file, text: '{"kind": "profile", "name": 1.10}' }).documents[0]?.value).toEqual({
      kind: 'profile',
      name: '1.10',
    });
  });
});
