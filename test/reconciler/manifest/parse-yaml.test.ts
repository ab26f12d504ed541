// YAML with keys that are written twice, and with very many keys.
import { expect, test } from 'vitest';
import { parseYaml } from '../../../reconciler/manifest/text/parse-yaml.ts';

test('each key that is written twice in one map is reported once, at its second place', () => {
  const text = 'a: &x {p: 1, p: 2}\nb: *x\nc: *x\na: 3\n1: one\n"1": two\n';
  const { documents, problems } = parseYaml(text);
  expect(documents).toEqual([]);
  expect(problems.map(({ code, offset }) => [code, text.slice(offset).split(':', 1)[0]])).toEqual([
    ['duplicate-key', 'p'],
    ['duplicate-key', 'a'],
    ['duplicate-key', '"1"'],
  ]);
  expect(problems[0]).toMatchObject({ offset: 13, message: 'this key is written twice in one map' });
});

test('a map of very many keys is read in time that grows with their number', () => {
  const count = 80_000;
  const keys = Array.from({ length: count }, (_, index) => `k${index}: v\n`).join('');
  const begun = process.cpuUsage();
  const { documents, problems } = parseYaml(keys);
  const { user } = process.cpuUsage(begun);
  expect(problems).toEqual([]);
  expect(Object.keys(documents[0]?.value ?? {})).toHaveLength(count);
  // A comparison of each key with all before it takes a minute and more.
  expect(user / 1e6).toBeLessThan(20);
}, 300_000);
