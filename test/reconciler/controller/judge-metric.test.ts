// Answers of Prometheus for a check: passed, failed and malformed ones.
import { expect, test } from 'vitest';
import { judgeMetric } from '../../../reconciler/controller/decide/judge-metric.ts';
import { withNumbers } from '../../../reconciler/controller/config/numbers.ts';
import { hooksUpTo, hostsOfHook, stateOfHook, withHook } from '../../../reconciler/controller/decide/hooks.ts';

const vector = (...values: readonly unknown[]) => ({
  status: 'success',
  data: { resultType: 'vector', result: values.map((value) => ({ metric: {}, value: [1, value] })) },
});

test('all values must stay within the bounds; an empty answer and NaN fail', () => {
  expect(judgeMetric(vector('0.5', '1'), { max: 1 })).toBeUndefined();
  expect(judgeMetric(vector('0.5', '1.01'), { max: 1 })).toBe('1.01 is above 1');
  expect(judgeMetric(vector('-2'), { min: -1 })).toBe('-2 is below -1');
  expect(judgeMetric(vector('+Inf'), { max: 1 })).toBe('Infinity is above 1');
  expect(judgeMetric(vector('NaN'), { max: 1 })).toBe('a value is no number');
  expect(judgeMetric(vector(''), { max: 1 })).toBe('a value is no number');
  expect(judgeMetric(vector(), { max: 1 })).toBe('the query finds nothing');
  expect(
    judgeMetric({ status: 'success', data: { resultType: 'scalar', result: [1, '3'] } }, { max: 3 }),
  ).toBeUndefined();
});

test('a malformed answer is an error, never a value', () => {
  for (const hostile of [
    null,
    'x',
    [],
    {},
    { status: 'success' },
    vector(5),
    vector(null),
    { status: 'success', data: { resultType: 'matrix', result: [] } },
  ])
    expect(() => judgeMetric(hostile, { max: 1 }), JSON.stringify(hostile)).toThrow(
      'it is not an answer of Prometheus',
    );
  expect(() => judgeMetric({ status: 'error', error: 'parse error' }, {})).toThrow('the query is refused: parse error');
});

test('fractions are numbers where the schema asks for a number, and stay texts where it asks for an integer', () => {
  const schema = { properties: { ratio: { type: 'number' }, count: { type: 'integer' }, text: { type: 'string' } } };
  expect(withNumbers(schema, { ratio: '0.25', count: '0.25', text: '0.25' })).toEqual({
    ratio: 0.25,
    count: '0.25',
    text: '0.25',
  });
});

test('a hook around a sync runs on the first host or the hosts of its pattern, and another revision starts without finished hooks', () => {
  const hook = { name: 'a', container: 'c', command: ['x'], timeoutMs: 1000, isOptional: false };
  const hosts = ['h1', 'h2', 'h3'].map((name) => ({ name, labels: {}, groups: [] }));
  const names = (pattern: string | undefined, at?: number) =>
    hostsOfHook(
      pattern === undefined ? hook : { ...hook, hosts: { by: 'name', name: pattern } },
      hosts,
      at === undefined ? undefined : hosts[at],
    ).map(({ name }) => name);
  expect([names(undefined), names('h*'), names(undefined, 1), names('h2', 1), names('h2', 2)]).toEqual([
    ['h1'],
    ['h1', 'h2', 'h3'],
    ['h2'],
    ['h2'],
    [],
  ]);
  const began = withHook(undefined, 'one', 'a', 'began');
  expect(stateOfHook(began, 'one', 'a')).toBe('began');
  expect(stateOfHook(withHook(began, 'one', 'a', 'failed'), 'one', 'a')).toBeUndefined();
  expect(stateOfHook(withHook(began, 'one', 'a', 'done'), 'two', 'a')).toBeUndefined();
});

test('hooks around waves run in the order of the waves, those before a wave before those after it', () => {
  const hook = (name: string, wave: number) => ({
    name,
    wave,
    container: 'c',
    command: ['x'],
    timeoutMs: 1,
    isOptional: false,
  });
  const hooks = {
    beforeWave: [hook('b2', 2), hook('b0', 0), hook('b0too', 0)],
    afterWave: [hook('a2', 2), hook('a-1', -1), hook('a0', 0)],
  };
  const names = (wave: number): string =>
    hooksUpTo(wave, hooks)
      .map((one) => one.hook.name)
      .join(' ');
  expect([names(-1), names(0), names(1), names(2), names(Infinity)]).toEqual([
    '',
    'a-1 b0 b0too',
    'a-1 b0 b0too a0',
    'a-1 b0 b0too a0 b2',
    'a-1 b0 b0too a0 b2 a2',
  ]);
  expect(hooksUpTo(Infinity, {})).toEqual([]);
});
