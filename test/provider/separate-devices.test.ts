// Separate devices of containers: how the resource of the container shows, sends and copies them.
import { describe, expect, test } from 'vitest';
import {
  separateDevicesKey,
  checkDeclaredOnce,
  devicesApart,
  devicesOfItsOwn,
  separateDeviceNames,
  withNamesApart,
  withoutApart,
} from '../../provider/resources/shared/separate-devices.ts';
import { inTurn } from '../../provider/resources/container/container-queue.ts';
import { Activity } from '../../provider/connection/activity.ts';
import type { Link } from '../../provider/connection/link.ts';
import { movedState } from '../../provider/moving/other-providers.ts';
import type { Container } from '../../server/api/container/container.ts';
import { ClientError, isPreconditionFailed } from '../../server/client/client-error.ts';

const root = { type: 'disk', path: '/', pool: 'p' };
const data = { type: 'disk', path: '/data', source: 'd', pool: 'p' };
const live = (names: string) =>
  ({
    name: 'web',
    config: { 'user.x': '1', [separateDevicesKey]: names },
    devices: { root, data },
  }) as unknown as Container;

describe('separate devices', () => {
  test('Separate devices are listed sorted and once, and the key goes with the last of them', () => {
    expect(withNamesApart({ 'user.x': '1' }, ['b', 'a', 'b'])).toEqual({
      'user.x': '1',
      [separateDevicesKey]: '["a","b"]',
    });
    expect(withNamesApart({ 'user.x': '1', [separateDevicesKey]: '["a"]' }, [])).toEqual({ 'user.x': '1' });
  });

  test('A key with other content lists no separate devices, so that no device escapes its container', () => {
    for (const text of ['', 'data', '{"data":1}', '"data"', '[1,null]'])
      expect(separateDeviceNames({ [separateDevicesKey]: text })).toEqual([]);
  });

  test('The container neither shows nor loses separate devices, and copies have neither them nor the key', () => {
    const container = live('["data","gone"]');
    expect(devicesOfItsOwn(container.config, container.devices)).toEqual({ root });
    expect(devicesApart(container)).toEqual({ data });
    const copy = { name: 'web', config: { 'user.x': '1' }, devices: { root } };
    expect(withoutApart(container, [])).toEqual(copy);
    expect(withoutApart({ ...container, config: { 'user.x': '1' } }, ['data'])).toEqual(copy);
  });

  test('A separate device that the container also declares is not written', () => {
    expect(() => checkDeclaredOnce(live('["data"]'), { root, data })).toThrow(
      /device data of the container web is declared twice/,
    );
    expect(() => checkDeclaredOnce(live('["data"]'), { root })).not.toThrow();
    expect(() => checkDeclaredOnce(live('["gone"]'), { root, gone: data })).not.toThrow();
  });
});

describe('changes of one container', () => {
  test('A change of a container begins when its previous change has ended, and does not wait for other containers', async () => {
    const link = { activity: new Activity(), project: undefined } as unknown as Link;
    const seen: string[] = [];
    let fail = (_error: Error): void => {};
    const first = inTurn(link, 'web', () => new Promise<void>((_resolve, reject) => (fail = reject)));
    const second = inTurn(link, 'web', () => Promise.resolve(void seen.push('second')));
    await inTurn({ ...link, project: 'team' }, 'web', () => Promise.resolve(void seen.push('other project')));
    await inTurn(link, 'db', () => Promise.resolve(void seen.push('other container')));
    expect(seen).toEqual(['other project', 'other container']);
    fail(new Error('refused'));
    await expect(first).rejects.toThrow('refused');
    await second;
    expect(seen.at(-1)).toBe('second');
  });

  test('A stale change is recognized by the answer, and by the end of an operation that had to wait', () => {
    const failed = (message: string): ClientError => new ClientError('operationFailed', message, { status: 400 });
    expect(
      isPreconditionFailed(
        failed('Updating container: The container web changed since it was read: its ETag no longer matches If-Match.'),
      ),
    ).toBe(true);
    expect(isPreconditionFailed(failed('Updating container: no such volume'))).toBe(false);
    expect(isPreconditionFailed(new ClientError('preconditionFailed', 'x', { status: 412 }))).toBe(true);
  });
});

test('A moved block identifies an instance_device by its container and name', () => {
  const provider = 'registry.terraform.io/terraform-lxd/lxd';
  const state = { instance_name: 'web', name: 'data', type: 'disk', properties: {}, project: 'team', remote: null };
  const source = { provider, type: 'lxd_instance_device', version: 0, state, target: 'gantry_container_device' };
  expect(movedState(source)).toEqual({ container: 'web', name: 'data', project: 'team' });
});

test('A moved block identifies an attached volume by its device, which is named as the volume by default', () => {
  const provider = 'registry.terraform.io/terraform-lxd/lxd';
  const moved = (more: object) =>
    movedState({
      provider,
      type: 'lxd_volume_container_attach',
      version: 0,
      state: { container_name: 'web', volume_name: 'data', pool: 'p', path: '/srv', ...more },
      target: 'gantry_container_device',
    });
  expect(moved({})).toEqual({ container: 'web', name: 'data' });
  expect(moved({ device_name: 'disk1' })).toEqual({ container: 'web', name: 'disk1' });
});
