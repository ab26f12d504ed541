// The JSON of kept values: the same text as JSON.stringify, made once, and never that of another value.
import { describe, expect, test } from 'vitest';
import { jsonOf, keepDerived, keepJson } from '../../../server/lib/cached-json.ts';

describe('kept JSON', () => {
  test('equals the text of JSON.stringify for every kind of value', () => {
    const values = [null, 'ä"\u2028', 1, true, [], {}, [1, { a: [undefined] }], { a: undefined, b: { c: 'x' } }];
    for (const value of values) expect(String(jsonOf(value))).toBe(JSON.stringify(value));
    for (const value of [[], {}, ['ä'], { b: { c: '€' } }])
      expect(String(jsonOf(keepJson(structuredClone(value))))).toBe(JSON.stringify(value));
    expect(jsonOf(undefined)).toBe('null');
  });

  test('joins a kept list from kept and other members', () => {
    const list = keepJson([keepJson({ name: 'a' }), { name: 'b' }, null, keepJson({ name: 'ü' })]);
    expect(String(jsonOf(list))).toBe('[{"name":"a"},{"name":"b"},null,{"name":"ü"}]');
  });

  test('is made once for a kept value and each time for another', () => {
    let asked = 0;
    const counting = {
      get name() {
        asked += 1;
        return 'a';
      },
    };
    jsonOf(counting);
    jsonOf(counting);
    expect(asked).toBe(2);
    keepJson(counting);
    jsonOf(counting);
    jsonOf(counting);
    expect(asked).toBe(3);
  });

  test('freezes the kept value', () => {
    const kept: { name: string } = keepJson({ name: 'a' });
    expect(() => (kept.name = 'b')).toThrow(TypeError);
  });

  test('derives once from a kept value', () => {
    const derive = keepDerived((value: { readonly name: string }) => ({ ...value, type: 'container' }));
    const kept = keepJson({ name: 'a' });
    expect(derive(kept)).toBe(derive(kept));
    const other = { name: 'a' };
    expect(derive(other)).not.toBe(derive(other));
    expect(derive(other)).toEqual({ name: 'a', type: 'container' });
  });
});
