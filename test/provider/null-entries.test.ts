// Entries of maps that are null: that resources never see them, and that plans with them are plans Terraform takes.
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
  test('are taken out of maps at every depth, and members of objects that are null stay', () => {
    expect(withoutNullEntries(attributes, withNulls)).toEqual(plain);
  });

  test('cost nothing where there are none: the very same object comes back', () => {
    expect(withoutNullEntries(attributes, plain)).toBe(plain);
    expect(withNullEntries(attributes, plain, plain)).toBe(plain);
  });

  test('come back into what was read as far as the server still has nothing there', () => {
    expect(withNullEntries(attributes, plain, withNulls)).toEqual(withNulls);
    const drifted = { ...plain, config: { a: '2', b: 'set by hand' } };
    expect(withNullEntries(attributes, drifted, withNulls)['config']).toEqual({ a: '2', b: 'set by hand' });
  });

  test('make no difference: the plan of what is the same without them is the state', () => {
    expect(plannedNullEntries(attributes, plain, { config: withNulls, prior: plain })).toEqual(plain);
    expect(plannedNullEntries(attributes, plain, { config: plain, prior: withNulls })).toEqual(withNulls);
  });

  test('are planned as configured where something else of the same map changes', () => {
    const prior = { ...plain, config: { a: '0' }, exec: { x: { user: null, environment: { A: '0' } } } };
    expect(plannedNullEntries(attributes, plain, { config: withNulls, prior })).toEqual({
      ...withNulls,
      devices: plain.devices,
    });
  });

  test('leave alone what is not known yet', () => {
    const planned = { ...plain, config: unknownValue };
    expect(plannedNullEntries(attributes, planned, { config: withNulls, prior: null })['config']).toBe(unknownValue);
  });
});
