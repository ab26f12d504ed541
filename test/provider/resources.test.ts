// The decisions of resources that need no daemon: what of a live object is state, what is sent, what a change costs, whose settings.
import { describe, expect, test } from 'vitest';
import {
  readSettings,
  settingsAttributes,
  settingsProblems,
  type SettingsConfig,
} from '../../provider/connection/settings.ts';
import type { Link } from '../../provider/connection/link.ts';
import { unknownValue } from '../../provider/framework/value.ts';
import { functions } from '../../provider/functions/functions.ts';
import { costOf } from '../../provider/resources/container-state.ts';
import { dueCommands } from '../../provider/resources/container-exec.ts';
import { parseImportId } from '../../provider/resources/ids.ts';
import { isFulfilled, readMap, sameMap, writtenMap, type MapRules } from '../../provider/resources/maps.ts';

const rules: MapRules = {
  isComputed: (key) => key.startsWith('volatile.') || key === 'ipv4.address',
  isProvenance: (key) => key === 'source',
  fulfils: (_key, live, written) => written === 'auto' && live !== '',
};

describe('config maps', () => {
  const live = {
    'limits.memory': '1GiB',
    'volatile.uuid': 'u',
    'ipv4.address': '10.0.0.1/24',
    'user.theirs': '1',
    gone: '',
  };

  test('read: what the server keeps is left out, strangers show, written spellings stay', () => {
    expect(readMap(live, null, rules)).toEqual({ 'limits.memory': '1GiB', 'user.theirs': '1' });
    const before = { 'limits.memory': '1024MiB', 'ipv4.address': 'auto', source: '/dev/x', unset: '' };
    expect(readMap(live, before, rules)).toEqual({
      'limits.memory': '1024MiB',
      'ipv4.address': 'auto',
      'user.theirs': '1',
      source: '/dev/x',
      unset: '',
    });
    expect(readMap({ 'limits.memory': '2GiB' }, before, rules)).toEqual({
      'limits.memory': '2GiB',
      source: '/dev/x',
      unset: '',
    });
  });

  test('written: our keys and what the server keeps; keys that were ours and are not any more go, strangers too', () => {
    expect(writtenMap(live, { 'limits.memory': '1024MiB' }, null, rules)).toEqual({
      'volatile.uuid': 'u',
      'ipv4.address': '10.0.0.1/24',
      'limits.memory': '1GiB',
    });
    expect(writtenMap(live, {}, { 'ipv4.address': 'auto' }, rules)).toEqual({ 'volatile.uuid': 'u' });
  });

  test('mean the same in other spellings, and only then', () => {
    expect(sameMap({ a: 'true' }, { a: 'yes' })).toBe(true);
    expect(sameMap({ a: 'true' }, { a: 'yes', b: '1' })).toBe(false);
    expect(sameMap({ a: '1', b: '' }, { a: '1', c: '' })).toBe(true);
    expect(sameMap({ a: '1' }, { a: '' })).toBe(false);
    expect(sameMap({ 'user.a': 'true' }, { 'user.a': 'yes' })).toBe(false);
  });

  test('of an imported object are fulfilled by what the server has', () => {
    const prior = { config: {}, effective_config: { 'ipv4.address': '10.0.0.1/24' } };
    expect(isFulfilled({ 'ipv4.address': 'auto' }, prior, rules)).toBe(true);
    expect(isFulfilled({ 'ipv4.address': '10.0.0.2/24' }, prior, rules)).toBe(false);
    expect(isFulfilled({}, { config: { 'user.a': 'b' }, effective_config: { 'user.a': 'b' } }, rules)).toBe(false);
  });
});

describe('the cost of a change', () => {
  const none = { config: {}, devices: {} };
  const root = { type: 'disk', path: '/', pool: 'a' };

  test('is told by the tables of the API', () => {
    expect(costOf(none, { ...none, config: { 'limits.memory': '1GiB' } })).toEqual({ effect: 'live', causes: [] });
    expect(costOf(none, { ...none, config: { 'security.nesting': 'true', 'limits.memory': '1GiB' } })).toEqual({
      effect: 'restart',
      causes: ['config["security.nesting"]'],
    });
    expect(costOf({ ...none, devices: { root } }, { ...none, devices: { root: { ...root, pool: 'b' } } }).effect).toBe(
      'recreate',
    );
    expect(costOf({ ...none, devices: { root } }, none).effect).toBe('live');
  });
});

describe('commands', () => {
  const spec = (on: string, ...command: string[]) => ({
    command,
    on,
    environment: null,
    cwd: null,
    user: 0,
    group: 0,
    fail_on_error: true,
    timeout: '5m',
    exit_code: null,
    stdout: null,
    stderr: null,
  });

  test('run when they are new, changed, or after a start, as they say', () => {
    const prior = {
      a: { ...spec('create', 'x'), exit_code: 0 },
      b: { ...spec('change', 'x'), stdout: 'o' },
      c: spec('start', 'x'),
    };
    expect(dueCommands({ b: spec('change', 'x'), a: spec('create', 'x') }, null, true)).toEqual(['a', 'b']);
    expect(
      dueCommands({ a: spec('create', 'y'), b: spec('change', 'x'), c: spec('start', 'x') }, prior, false),
    ).toEqual([]);
    expect(dueCommands({ a: spec('create', 'y'), b: spec('change', 'y'), c: spec('start', 'x') }, prior, true)).toEqual(
      ['b', 'c'],
    );
  });
});

describe('settings', () => {
  const none = Object.fromEntries(Object.keys(settingsAttributes).map((name) => [name, null])) as SettingsConfig;

  test('come from the configuration, then the environment, and say so', () => {
    const env = { GANTRY_ADDRESS: 'unix:///e', GANTRY_PROJECT: 'p', GANTRY_CLIENT_KEY: 'pem' };
    const read = readSettings({ ...none, address: 'unix:///c', client_key_file: '/k' }, env);
    expect(read.settings).toMatchObject({
      address: 'unix:///c',
      project: 'p',
      client_key: null,
      client_key_file: '/k',
    });
    expect(read.sources).toEqual([
      'address from the provider block',
      'client_key_file from the provider block',
      'project from GANTRY_PROJECT',
    ]);
  });

  test('are refused all at once, each with its attribute', () => {
    const problems = settingsProblems(
      readSettings({ ...none, client_certificate: 'x', client_certificate_file: 'y' }, {}),
    );
    expect(problems.map(({ summary }) => summary)).toEqual([
      'The address of the daemon is not given',
      'client_certificate and client_certificate_file exclude each other',
      'Client certificate and key belong together',
    ]);
    expect(settingsProblems(readSettings({ ...none, address: unknownValue }, {}))).toEqual([]);
  });
});

describe('ids and references', () => {
  const link = { project: undefined } as Link;

  test('of imports may name the project, which must be ours', () => {
    expect(parseImportId('web', 1, '', link).parts).toEqual(['web']);
    expect(parseImportId('default/web,image=a/b', 1, '', link, ['image'])).toEqual({
      parts: ['web'],
      options: { image: 'a/b' },
    });
    expect(() => parseImportId('other/web', 1, '', link)).toThrow(/another project/);
    for (const wrong of ['', 'a/b/c', 'web,colour=red', 'web,image', '/web']) {
      expect(() => parseImportId(wrong, 1, 'name', link, ['image']), wrong).toThrow();
    }
  });

  test('of images become sources', () => {
    const reference = (text: string) => functions.find(({ name }) => name === 'image_reference')?.call([text]);
    expect(reference('debian/12')).toMatchObject({ type: 'image', alias: 'debian/12', server: null });
    expect(reference('0123456789ab')).toMatchObject({ fingerprint: '0123456789ab', alias: null });
    expect(reference('https://h:8443/debian/12')).toMatchObject({
      server: 'https://h:8443',
      alias: 'debian/12',
      mode: 'pull',
    });
    for (const wrong of ['', 'a b', 'http://h/a', 'https://h:8443/'])
      expect(() => reference(wrong), wrong).toThrow(/names no image/);
  });
});
