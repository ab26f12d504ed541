// Server config: the accepted values, and the stored and returned form.
import { describe, expect, test } from 'vitest';
import { parseListenAddress } from '../../server/api/server/listen-address.ts';
import {
  mergeServerConfig,
  renderServerConfig,
  serverConfigKeys,
  serverConfigValue,
  type ServerConfigKey,
} from '../../server/api/server/server-config.ts';
import { validateServerConfig } from '../../server/api/server/validate-server-config.ts';

const fine = (key: string, value: unknown) => validateServerConfig({ [key]: value }).length === 0;

describe('server config sent', () => {
  test.each([
    ['core.https_address', ['10.0.0.1', '10.0.0.1:8443', '[::]:8443', ':8443', '[::1]', '::1', 'box.example:443', '']],
    ['core.https_allowed_credentials', ['true', 'NO', '1', '']],
    ['images.auto_update_interval', ['0', '24']],
    ['images.remote_cache_expiry', ['-1', '0', '30']],
    ['cluster.images_minimal_replica', ['1', '-1', '7']],
    ['images.compression_algorithm', ['none', 'zstd', 'gzip']],
    ['core.trust_password', ['any thing', true, null, '']],
    ['storage.lvm_mount_options', ['noatime,discard']],
    ['storage.lvm_vg_name', ['']],
    ['storage.lvm_volume_size', ['10GiB']],
    ['core.proxy_http', ['http://proxy:3128']],
  ])('%s accepts %j', (key, values) => {
    for (const value of values) expect(validateServerConfig({ [key]: value }), String(value)).toEqual([]);
  });

  test.each([
    [
      'core.https_address',
      ['10.0.0.1:0', '10.0.0.1:99999', '10.0.0', 'a b', '[10.0.0.1]:80', 'x:y', 5, '[::1', 'a\nb'],
    ],
    ['core.https_allowed_credentials', ['maybe', true]],
    ['core.https_allowed_origin', ['x\r\nSet-Cookie: a=b']],
    ['images.auto_update_interval', ['-1', '1.5', 6, 'x']],
    ['cluster.images_minimal_replica', ['0', '-2']],
    ['cluster.offline_threshold', ['4']],
    ['images.compression_algorithm', ['-x', 'gzip -9', '../gzip']],
    ['core.trust_password', [false, 5, ['x'], 'two\nlines']],
    ['storage.lvm_vg_name', ['vg0']],
    ['storage.lvm_volume_size', ['20GiB']],
  ])('%s refuses %j', (key, values) => {
    for (const value of values) expect(fine(key, value), String(value)).toBe(false);
  });

  test('is validated as a whole, in the order of the keys', () => {
    const problems = validateServerConfig({ 'images.auto_update_interval': 'x', 'core.https_adress': ':1', other: {} });
    expect(problems.map((problem) => problem.path)).toEqual([
      'config.core.https_adress',
      'config.images.auto_update_interval',
      'config.other',
    ]);
    expect(problems[0]?.message).toBe('unknown key "core.https_adress" (did you mean core.https_address?)');
    for (const key of ['cluster.max_standby', 'core.dns_address', 'rbac.api.url'])
      expect(validateServerConfig({ [key]: '1' })[0]?.message).toBe(`"${key}" is a key of LXD without effect here`);
    expect(problems[1]?.message).toBe(
      'cannot set images.auto_update_interval to "x": it must be a whole number of at least 0',
    );
    expect(validateServerConfig({ 'core.trust_password': 5 })[0]?.message).toBe(
      'cannot set core.trust_password: values are strings, this is a number',
    );
  });

  test('accepts user.* keys as free text and drops them when empty', () => {
    const sent = { 'user.note': 'two\nlines', 'user.gantry.set.web': '{"v":1}' };
    expect(validateServerConfig(sent)).toEqual([]);
    const { config } = mergeServerConfig({}, sent, 'patch');
    expect(renderServerConfig(config)).toEqual(sent);
    expect(mergeServerConfig(config, { 'user.note': '' }, 'patch').config).toEqual({
      'user.gantry.set.web': '{"v":1}',
    });
    expect(validateServerConfig({ 'user.note': 'a\0b' })[0]?.message).toContain('NUL');
    expect(validateServerConfig({ 'user.note': 'a\ud800b' })[0]?.message).toContain('half of a surrogate pair');
    expect(validateServerConfig({ 'user.note': 'a\u{1F980}b' })).toEqual([]);
  });

  test('never repeats its password in a message', () => {
    expect(JSON.stringify(validateServerConfig({ 'core.trust_password': 'hunter2\n' }))).not.toContain('hunter2');
  });

  test('accepts every default of the table', () => {
    for (const [key, fact] of Object.entries<ServerConfigKey>(serverConfigKeys)) {
      if (fact.default !== undefined) expect(fine(key, fact.default), key).toBe(true);
    }
  });
});

describe('server config stored', () => {
  const current = { 'core.https_address': ':8443', 'core.trust_password': 'hash', 'images.auto_update_interval': '12' };

  test('PUT resets absent keys to their default', () => {
    const change = mergeServerConfig(current, { 'images.auto_update_interval': '12' }, 'put');
    expect(change.config).toEqual({ 'images.auto_update_interval': '12' });
    expect(change.changed).toEqual(['core.https_address', 'core.trust_password']);
  });
  test('PATCH keeps absent keys', () => {
    const change = mergeServerConfig(current, { 'core.https_address': ':9443' }, 'patch');
    expect(change.config).toEqual({ ...current, 'core.https_address': ':9443' });
    expect(change.changed).toEqual(['core.https_address']);
  });
  test('empty text and null unset, and values equal to the default are not stored', () => {
    const sent = { 'core.https_address': '', 'core.trust_password': null, 'images.auto_update_interval': '+6' };
    expect(mergeServerConfig(current, sent, 'patch').config).toEqual({});
  });
  test('true keeps a hidden key; text replaces it and is returned separately', () => {
    expect(mergeServerConfig(current, { 'core.trust_password': true }, 'put')).toEqual({
      config: { 'core.trust_password': 'hash' },
      secrets: {},
      changed: ['core.https_address', 'images.auto_update_interval'],
    });
    const change = mergeServerConfig(current, { 'core.trust_password': 'new' }, 'patch');
    expect(change.config).not.toHaveProperty('core.trust_password');
    expect(change.secrets).toEqual({ 'core.trust_password': 'new' });
    expect(change.changed).toEqual(['core.trust_password']);
    expect(mergeServerConfig({}, { 'core.trust_password': true }, 'patch').config).toEqual({});
  });
  test('booleans and numbers are stored in one spelling', () => {
    expect(
      mergeServerConfig({}, { 'core.https_allowed_credentials': 'YES', 'images.remote_cache_expiry': '+05' }, 'put')
        .config,
    ).toEqual({ 'core.https_allowed_credentials': 'true', 'images.remote_cache_expiry': '5' });
    const off = mergeServerConfig({}, { 'images.auto_update_cached': 'off' }, 'put');
    expect(off.config).toEqual({ 'images.auto_update_cached': 'false' });
  });
  test('a repeated request changes nothing', () => {
    expect(mergeServerConfig(current, renderServerConfig(current), 'put')).toEqual({
      config: current,
      secrets: {},
      changed: [],
    });
  });
  test('is returned without hidden values', () => {
    expect(renderServerConfig(current)).toEqual({ ...current, 'core.trust_password': true });
    expect(renderServerConfig({})).toEqual({});
  });
  test('has its defaults while unset', () => {
    expect(serverConfigValue({}, 'images.auto_update_interval')).toBe('6');
    expect(serverConfigValue(current, 'images.auto_update_interval')).toBe('12');
    expect(serverConfigValue({}, 'core.https_address')).toBe('');
  });
});

describe('listen addresses', () => {
  test.each([
    ['10.0.0.1', { host: '10.0.0.1', port: 8443 }],
    [':1234', { host: '', port: 1234 }],
    ['[fd42::1]:99', { host: 'fd42::1', port: 99 }],
    ['::', { host: '::', port: 8443 }],
  ])('%s', (text, expected) => expect(parseListenAddress(text)).toEqual(expected));
});
