// Null entries of maps: resources never see them, and Terraform accepts plans with them.
import { describe, expect, test } from 'vitest';
import { objectMap, text, textMap, textMaps, texts } from '../../provider/framework/attribute.ts';
import { plannedNullEntries, withNullEntries, withoutNullEntries } from '../../provider/framework/null-entries.ts';
import { unknownValue } from '../../provider/framework/value.ts';

const doc = '';
const attributes = {
  name: text({ doc }),
  zones: texts({ doc }),
  config: textMap({ doc }),
  devices: textMaps({ doc }),
  exec: objectMap({ user: text({ doc }), environment: textMap({ doc }) }, { doc }),
};
const nothing = { name: null, zones: null, config: null, devices: null, exec: null };
const plain = {
  ...nothing,
  name: 'a',
  config: { a: '1' },
  devices: { eth0: { type: 'nic' } },
  exec: { x: { user: null, environment: { A: '1' } } },
};
const withNulls = {
  ...nothing,
  name: 'a',
  config: { a: '1', b: null },
  devices: { eth0: { type: 'nic', mtu: null }, eth1: null },
  exec: { x: { user: null, environment: { A: '1', B: null } }, y: null },
};

describe('null entries of maps', () => {
  test('Null entries are removed from maps at every depth, and null members of objects stay', () => {
    expect(withoutNullEntries(attributes, withNulls)).toEqual(plain);
  });

  test('A value without null entries is returned as the same object', () => {
    expect(withoutNullEntries(attributes, plain)).toBe(plain);
    expect(withNullEntries(attributes, plain, plain)).toBe(plain);
  });

  test('Null entries return to a value that was read, unless the server has something there', () => {
    expect(withNullEntries(attributes, plain, withNulls)).toEqual(withNulls);
    const drifted = { ...plain, config: { a: '2', b: 'set by hand' } };
    expect(withNullEntries(attributes, drifted, withNulls)['config']).toEqual({ a: '2', b: 'set by hand' });
  });

  test('A plan equals the state when they differ only in null entries', () => {
    expect(plannedNullEntries(attributes, plain, { config: withNulls, prior: plain })).toEqual(plain);
    expect(plannedNullEntries(attributes, plain, { config: plain, prior: withNulls })).toEqual(withNulls);
  });

  test('Null entries are planned as configured when another entry of the same map changes', () => {
    const prior = { ...plain, config: { a: '0' }, exec: { x: { user: null, environment: { A: '0' } } } };
    expect(plannedNullEntries(attributes, plain, { config: withNulls, prior })).toEqual({
      ...withNulls,
      devices: plain.devices,
    });
  });

  test('Unknown values are left alone', () => {
    const planned = { ...plain, config: unknownValue };
    expect(plannedNullEntries(attributes, planned, { config: withNulls, prior: null })['config']).toBe(unknownValue);
  });
});
