// Decisions of resources without a daemon: the state from a live object, the body of a write, the effect of a change, the settings.
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
import { costOf } from '../../provider/resources/container/container-state.ts';
import { dueCommands } from '../../provider/resources/container/container-commands.ts';
import {
  containerConfigAttribute,
  devicesAttribute,
  problemsInConfig,
} from '../../provider/resources/shared/common-attributes.ts';
import { validateAttributes } from '../../provider/framework/validate.ts';
import { serverConfig } from '../../provider/resources/server-config.ts';
import { importByWhole, parseImportId } from '../../provider/resources/shared/import-ids.ts';
import {
  isFulfilled,
  readMap,
  sameMap,
  writtenMap,
  type MapRules,
} from '../../provider/resources/shared/config-maps.ts';

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

  test('A read leaves out keys of the server, shows foreign keys, and keeps written spellings', () => {
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

  test('A write keeps keys of the server, and drops foreign keys and those that are no longer configured', () => {
    expect(writtenMap(live, { 'limits.memory': '1024MiB' }, null, rules)).toEqual({
      'volatile.uuid': 'u',
      'ipv4.address': '10.0.0.1/24',
      'limits.memory': '1GiB',
    });
    expect(writtenMap(live, {}, { 'ipv4.address': 'auto' }, rules)).toEqual({ 'volatile.uuid': 'u' });
  });

  test('Maps mean the same in other spellings, and only then', () => {
    expect(sameMap({ a: 'true' }, { a: 'yes' })).toBe(true);
    expect(sameMap({ a: 'true' }, { a: 'yes', b: '1' })).toBe(false);
    expect(sameMap({ a: '1', b: '' }, { a: '1', c: '' })).toBe(true);
    expect(sameMap({ a: '1' }, { a: '' })).toBe(false);
    expect(sameMap({ 'user.a': 'true' }, { 'user.a': 'yes' })).toBe(false);
  });

  test('An imported object fulfils a configuration when the server has the configured values', () => {
    const prior = { config: {}, effective_config: { 'ipv4.address': '10.0.0.1/24' } };
    expect(isFulfilled({ 'ipv4.address': 'auto' }, prior, rules)).toBe(true);
    expect(isFulfilled({ 'ipv4.address': '10.0.0.2/24' }, prior, rules)).toBe(false);
    const written = { ...prior, config: { 'ipv4.address': '10.0.0.1/24' } };
    const isKept = [true, false].map((isImported) => isFulfilled({ 'ipv4.address': '' }, written, rules, isImported));
    expect(isKept).toEqual([true, false]);
    expect(isFulfilled({}, { config: { 'user.a': 'b' }, effective_config: { 'user.a': 'b' } }, rules)).toBe(false);
  });
});

describe('the effect of a change', () => {
  const none = { config: {}, devices: {} };
  const root = { type: 'disk', path: '/', pool: 'a' };

  test('The effect of a change comes from the tables of the API', () => {
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
    enabled: true,
    environment: null,
    cwd: null,
    user: 0,
    group: 0,
    fail_on_error: true,
    record_output: true,
    timeout: '5m',
    exit_code: 0 as number | null,
    stdout: null,
    stderr: null,
  });
  const asked = { prior: null, hasStarted: true, noted: [] };
  const prior = { a: spec('create', 'x'), b: { ...spec('change', 'x'), stdout: 'o' }, c: spec('start', 'x') };

  test('Commands run when they are new, changed, or after a start, as configured', () => {
    expect(dueCommands({ ...asked, wanted: { b: spec('change', 'x'), a: spec('create', 'x') } })).toEqual(['a', 'b']);
    const same = { a: spec('create', 'y'), b: spec('change', 'x'), c: spec('start', 'x') };
    expect(dueCommands({ ...asked, wanted: same, prior, hasStarted: false })).toEqual([]);
    const changed = { ...same, b: spec('change', 'y') };
    expect(dueCommands({ ...asked, wanted: changed, prior })).toEqual(['b', 'c']);
  });

  test('Commands that never ran run as soon as possible, unless an import noted them', () => {
    const never = { a: { ...prior.a, exit_code: null }, b: { ...prior.b, exit_code: null } };
    expect(dueCommands({ ...asked, wanted: never, prior: never })).toEqual(['a', 'b']);
    expect(dueCommands({ ...asked, wanted: never, prior: never, noted: ['a', 'b'] })).toEqual([]);
    const changed = { a: { ...never.a, command: ['y'] }, b: { ...never.b, command: ['y'] } };
    expect(dueCommands({ ...asked, wanted: changed, prior: never, noted: ['a', 'b'] })).toEqual(['b']);
  });

  test('Disabled commands do not run, and enabling one is no change by itself', () => {
    const off = { a: { ...spec('start', 'x'), enabled: false }, b: { ...spec('change', 'y'), enabled: false } };
    expect(dueCommands({ ...asked, wanted: off, prior })).toEqual([]);
    expect(dueCommands({ ...asked, wanted: prior, prior: { ...prior, b: { ...prior.b, enabled: false } } })).toEqual([
      'c',
    ]);
  });
});

describe('settings', () => {
  const none = Object.fromEntries(Object.keys(settingsAttributes).map((name) => [name, null])) as SettingsConfig;

  test('Settings come from the configuration, then the environment, and name their source', () => {
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

  test('Wrong settings are refused all at once, each with its attribute', () => {
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

describe('messages about wrong values', () => {
  test('A message names the value once, also below a device with dots in its name, and ends with one full stop', () => {
    const attributes = { config: containerConfigAttribute(true), devices: devicesAttribute };
    const config = { config: { 'x.y': '1' }, devices: { a: { type: 'none' }, 'a.b': { type: 'disk' } } };
    const found = validateAttributes(attributes, config, { writeOnlyAllowed: true });
    expect(found.map(({ summary, detail }) => [summary, detail])).toEqual([
      ['Invalid value of config["x.y"]', 'unknown key "x.y".'],
      [
        'Invalid value of devices["a.b"]["path"]',
        'devices["a.b"]["path"] is required: Where it is mounted in the container; without a leading slash as with one.',
      ],
      expect.anything(),
    ]);
    const [free] = problemsInConfig([{ path: 'config.x', message: 'unknown key; free keys start with user.' }]);
    expect(free?.detail).toMatch(/[^.]\.$/);
  });
});

describe('ids and references', () => {
  test('Import ids may name the project', () => {
    expect(parseImportId('web', 1, '')).toEqual({ parts: ['web'], options: {}, scope: {} });
    // Profiles and snapshots may have commas in their names.
    expect(parseImportId('team/a,b', 1, '')).toEqual({ parts: ['a,b'], options: {}, scope: { project: 'team' } });
    expect(parseImportId('team/web,image=a/b', 1, '', ['image'])).toEqual({
      parts: ['web'],
      options: { image: 'a/b' },
      scope: { project: 'team' },
    });
    for (const wrong of ['', 'a/b/c', 'web,colour=red', 'web,image', '/web']) {
      expect(() => parseImportId(wrong, 1, 'name', ['image']), wrong).toThrow();
    }
    // An empty name would be the list of all objects.
    expect(() => importByWhole('name', 'team').parse('')).toThrow('The import id "" is not understood');
  });

  test('An import id of the server config has names of keys that can be read', () => {
    const link = { reach: { remotes: [] } } as unknown as Link;
    const parse = (id: string) => serverConfig.importing.parse(id, link);
    expect(parse('server')).toEqual({ name: 'server', config: {} });
    expect(parse('user.a, core.https_address')).toMatchObject({
      config: { 'user.a': '', 'core.https_address': '' },
    });
    for (const wrong of ['', 'core.https_address,', 'server,user.a', 'core.htps_address', 'core.trust_password'])
      expect(() => parse(wrong), wrong).toThrow('Invalid value of config[');
  });

  test('References of images become sources', () => {
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
