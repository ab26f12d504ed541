// The identity of a container for cloud-init, where it must stay: old containers, and machines that only moved.
import { expect, test } from 'vitest';
import {
  arrivedInstanceId,
  instanceIdKey,
  renamedInstance,
} from '../../../../server/services/containers/shared/instance-id.ts';
import { GuestView } from '../../../../server/services/containers/guest-view.ts';
import { validateContainerConfig } from '../../../../server/api/container/container-config.ts';

const id = '0b5c9c3e-7f5c-4c44-9d4e-2f1f6a3f1d10';

test('a container from before the key keeps its name as identity, so that cloud-init does not run again after an upgrade', () => {
  const entry = { name: 'old', document: { uuid: 'u' } };
  type Deps = ConstructorParameters<typeof GuestView>[0];
  const view = new GuestView({
    records: { containers: { get: () => entry } },
    view: { expanded: () => ({ config: {}, devices: {} }) },
  } as unknown as Deps);
  expect(view.metaData({ uuid: 'u', name: 'old' })).toBe('#cloud-config\ninstance-id: old\nlocal-hostname: old\n');
  const document = { config: { 'user.a': 'b' } };
  expect(renamedInstance(document, { from: 'old', to: 'new', instanceId: id })).toBe(document);
  expect(arrivedInstanceId({}, true)).toEqual({});
});

test('a machine that arrives under its name is the same one, under another name a new one', () => {
  expect(arrivedInstanceId({ [instanceIdKey]: id }, true)).toEqual({ [instanceIdKey]: id });
  const made = arrivedInstanceId({ [instanceIdKey]: id }, false)[instanceIdKey];
  expect(made).toMatch(/^[0-9a-f-]{36}$/);
  expect(made).not.toBe(id);
  // What a file from elsewhere says is no line of YAML.
  expect(arrivedInstanceId({ [instanceIdKey]: `${id}\nusers: []` }, true)).toEqual({});
});

test('a container that only changes its project keeps its identity', () => {
  const document = { config: { [instanceIdKey]: id } };
  expect(renamedInstance(document, { from: 'web', to: 'p%web', instanceId: 'another' })).toBe(document);
  expect(renamedInstance(document, { from: 'web', to: 'app', instanceId: 'another' }).config).toEqual({
    [instanceIdKey]: 'another',
  });
});

test('only the server writes the key', () => {
  expect(validateContainerConfig({ [instanceIdKey]: id }, { profile: true })).toHaveLength(1);
});
