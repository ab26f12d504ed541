// Messages lose the values of configurations, which may be secrets, and keep the names of objects.
import { describe, expect, test } from 'vitest';
import { text, textMap, textMaps } from '../../provider/framework/attribute.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { redacted } from '../../provider/framework/redact.ts';

const doc = '';
const attributes = {
  name: text({ doc }),
  content: text({ doc }),
  config: textMap({ doc }),
  devices: textMaps({ doc }),
};
const values = {
  name: 'web-server-1',
  content: 'hush hush hush',
  config: { 'limits.memory': 'secret', 'user.pw': 'another secret', 'environment.A': 'x', 'user.name': 'web-server-1' },
  devices: { eth0: { parent: 'lan0' } },
};
const said = (detail: string): string =>
  redacted([failure('A thing', detail)], attributes, [values, null])[0]?.detail ?? '';

describe('messages', () => {
  test('Messages lose quoted values of maps, also cut ones', () => {
    expect(said('limits.memory cannot be "secret": it must be a size')).toBe(
      'limits.memory cannot be (the value given): it must be a size',
    );
    const long = 'z'.repeat(80);
    const [{ detail } = failure('', '')] = redacted([failure('', `is "${'z'.repeat(57)}..."`)], attributes, [
      { config: { a: long } },
    ]);
    expect(detail).toBe('is (the value given)');
  });

  test('Messages lose free texts without quotes when they are long enough to differ from ordinary words', () => {
    expect(said('exited with 3: another secret, hush hush hush, x')).toBe(
      'exited with 3: (the value given), (the value given), x',
    );
  });

  test('Messages keep the names of objects, and words that only look like a value', () => {
    expect(said('The profile "web-server-1" needs no secret')).toBe('The profile "web-server-1" needs no secret');
  });
});
