// Inherited parts of a copy: recorded on the container, and left alone by its resource until the configuration declares them.
import { expect, test } from 'vitest';
import {
  inheritedBy,
  inheritedKey,
  stillInherited,
  withInherited,
  withoutInherited,
} from '../../provider/resources/shared/inherited.ts';

const noted = JSON.stringify({ config: ['user.old'], devices: ['data'] });
const live = {
  config: { 'user.old': '1', 'user.own': '2', [inheritedKey]: noted },
  devices: { data: { type: 'none' }, root: { type: 'disk' } },
};

test('the resource of a copy sees neither the keys nor the devices that the copy inherited', () => {
  expect(withoutInherited(live)).toEqual({
    config: { 'user.own': '2', [inheritedKey]: noted },
    devices: { root: { type: 'disk' } },
  });
});

test('a declared key is no longer inherited, and the record is removed with its last name', () => {
  const left = stillInherited(inheritedBy(live.config), { config: { 'user.old': '9' }, devices: { data: {} } });
  expect(left).toEqual({ config: [], devices: [] });
  expect(withInherited(live.config, left)).toEqual({ 'user.old': '1', 'user.own': '2' });
});

test('a malformed record names nothing, so that no key escapes its container', () => {
  for (const text of ['', 'x', '[]', 'null', '{"config":"user.old"}', '{"config":[1,null],"devices":{}}'])
    expect(inheritedBy({ [inheritedKey]: text })).toEqual({ config: [], devices: [] });
});
