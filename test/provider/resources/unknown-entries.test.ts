// An update whose configuration has entries that are known only after apply: it can be planned, and the plan at the apply, which knows
// them, changes nothing that the first plan called known.
import { describe, expect, test } from 'vitest';
import type { Attribute } from '../../../provider/framework/attribute.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import { planChange } from '../../../provider/framework/plan.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import { isUnknown, unknownValue, type Value, type ValueMap } from '../../../provider/framework/value.ts';
import { gantryProvider } from '../../../provider/gantry.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { image } from '../../../provider/resources/image/image.ts';
import { storagePool } from '../../../provider/resources/storage/storage-pool.ts';

const { resources } = gantryProvider({ env: {}, log() {} });

/** A value of the attribute with `text` in each place for a text. */
function filled({ type, nested }: Attribute<unknown>, text: Value): Value {
  if (nested !== undefined) {
    const item = Object.fromEntries(
      Object.entries(nested.attributes).map(([name, each]) => [name, filled(each, text)]),
    );
    return nested.nesting === 'single' ? item : nested.nesting === 'list' ? [item] : { one: item };
  }
  if (type === 'string') return text;
  if (typeof type === 'string') return null;
  if (type.kind === 'list') return [text];
  return type.kind === 'map' && type.item !== 'string' ? { one: { 'limits.memory': text } } : { 'limits.memory': text };
}

const compared = resources.flatMap(({ typeName, attributes }) =>
  Object.entries(attributes)
    .filter(([, { same, type }]) => same !== undefined && typeof type !== 'string')
    .map(([name, attribute]) => [`${typeName}.${name}`, name, attribute] as const),
);

test.each(compared)('An entry of %s that is known only after apply is a difference', (_what, name, attribute) => {
  const { planned, differs } = planChange(
    { [name]: attribute },
    { [name]: filled(attribute, unknownValue) },
    { [name]: filled(attribute, '1GiB') },
  );
  expect(differs).toBe(true);
  expect(planned[name]).toEqual(filled(attribute, unknownValue));
});

const explain = (what: string, error: unknown) => [failure(what, String(error))];
const nothing = (resource: AnyResource<Link>): ValueMap =>
  Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));
const planOf = (resource: AnyResource<Link>, prior: ValueMap, config: ValueMap) =>
  planResource(
    { resource, client: undefined, explain },
    {
      config: { ...nothing(resource), ...config },
      prior: { ...nothing(resource), ...prior },
      isImported: false,
      takenBy: undefined,
    },
  );

describe('a running container', () => {
  const web = { name: 'web', description: '', ephemeral: false, config: {}, devices: {}, running: true };
  const results = { exit_code: 0, stdout: null, stderr: null };
  const command = { command: ['true'], environment: null, cwd: null, user: 0, group: 0, on: 'start', enabled: true };
  const exec = { again: { ...command, fail_on_error: true, record_output: false, timeout: '5m' } };
  const shown = { status: 'Running', ipv4_address: '10.0.0.2', location: 'a', expanded_devices: {} };
  const prior = {
    ...web,
    ...shown,
    allow_restart: true,
    stop_timeout: 30,
    profiles: [],
    exec: { again: { ...exec.again, ...results } },
    target: 'a',
  };
  const config = { name: 'web', exec: { again: { ...exec.again, exit_code: null, stdout: null, stderr: null } } };

  test('A key that may take effect at a start may change what a start changes', async () => {
    const { planned } = await planOf(container, prior, { ...config, config: { 'security.nesting': unknownValue } });
    const again = (planned?.['exec'] as Record<string, ValueMap> | undefined)?.['again'];
    for (const value of [planned?.['status'], planned?.['ipv4_address'], again?.['exit_code']])
      expect(isUnknown(value)).toBe(true);
    expect(planned).toMatchObject({ location: 'a', expanded_devices: {} });
  });

  test('A change that is wholly known and live leaves them as they are', async () => {
    const { planned } = await planOf(container, prior, { ...config, config: { 'limits.memory': '1GiB' } });
    expect(planned).toMatchObject({ status: 'Running', ipv4_address: '10.0.0.2', exec: prior.exec });
  });

  test('A target that is known only after apply may move it', async () => {
    const { planned } = await planOf(container, prior, { ...config, target: unknownValue });
    expect([isUnknown(planned?.['location']), isUnknown(planned?.['status'])]).toEqual([true, true]);
  });
});

describe('an image whose source comes from another resource', () => {
  const names =
    'type file metadata url server protocol certificate alias fingerprint architecture container snapshot'.split(' ');
  const sourceOf = (given: ValueMap): ValueMap => ({
    ...Object.fromEntries(names.map((name) => [name, null])),
    ...given,
  });
  const shown = { fingerprint: 'f', properties: {}, public: false, auto_update: false, copy_aliases: false };
  const planned = (before: ValueMap | null, after: Value) =>
    planOf(image, { ...shown, source: before }, { source: after });
  const file = sourceOf({ type: 'file', file: 'a.tar.gz' });
  const replaced = { replace: [[{ attribute: 'source' }]], diagnostics: [] };

  test.each<[string, Value]>([
    ['the file', { ...file, file: unknownValue }],
    ['the metadata', { ...file, metadata: unknownValue }],
    ['the alias', sourceOf({ type: 'remote', server: 'https://x', alias: unknownValue })],
    ['all of it', unknownValue],
  ])(
    'It is replaced when %s is known only after apply: the apply could not turn an update into that',
    async (_what, after) => expect(await planned(file, after)).toMatchObject(replaced),
  );

  test('It stays when only the way to fetch it is known after apply', async () => {
    const remote = sourceOf({ type: 'remote', server: 'https://x', alias: 'a' });
    const { replace } = await planned(remote, { ...remote, certificate: unknownValue });
    expect(replace).toEqual([]);
  });

  test('It is not replaced after an import, which knows no source: the plan is refused with a remedy', async () => {
    const { replace, diagnostics } = await planned(null, { ...file, file: unknownValue });
    expect(replace).toEqual([]);
    expect(diagnostics).toMatchObject([{ severity: 'error', detail: expect.stringContaining('-target') as string }]);
  });

  test('It stays after an import when its source is none that the server could be compared with', async () => {
    const container = sourceOf({ type: 'container', container: unknownValue });
    expect(await planned(null, container)).toMatchObject({ replace: [], diagnostics: [] });
  });
});

describe('a value that is known only after apply and whose change may replace the object', () => {
  const volume = { pool: 'p', name: 'v', config: {}, description: '' };
  const ran = { container: 'web', command: ['true'], user: 0, group: 0, timeout: '5m', fail_on_error: true };
  const snapshot = { pool: 'p', volume: 'v', name: 's' };
  const origin = { pool: 'p', name: 'o', project: null };
  const network = { name: 'n', type: 'bridge', config: {}, description: '' };

  test.each<[string, string, ValueMap, Value, string]>([
    ['an instance type', 'gantry_container', { name: 'web', architecture: 'x86_64' }, 'c1', 'instance_type'],
    ['the source of a volume', 'gantry_storage_volume', volume, origin, 'source'],
    ['the member of a snapshot', 'gantry_volume_snapshot', snapshot, 'm1', 'target'],
    ['overrides of members', 'gantry_network', network, { m1: { config: {} } }, 'member_overrides'],
  ])('An object without %s is not made again for one, and one with it is', async (_what, type, own, has, name) => {
    const resource = resources.find(({ typeName }) => typeName === type) as AnyResource<Link>;
    const config = { ...own, [name]: unknownValue };
    expect((await planOf(resource, { ...own, [name]: null }, config)).replace).toEqual([]);
    expect((await planOf(resource, { ...own, [name]: has }, config)).replace).toEqual([[{ attribute: name }]]);
  });

  test('A command runs again for triggers that are known only after apply', async () => {
    const resource = resources.find(({ typeName }) => typeName === 'gantry_container_exec') as AnyResource<Link>;
    for (const triggers of [null, { a: 'b' }])
      expect((await planOf(resource, { ...ran, triggers }, { ...ran, triggers: unknownValue })).replace).toEqual([
        [{ attribute: 'triggers' }],
      ]);
  });
});

test('A fixed key of a pool that is known only after apply may replace the pool, which the plan says', async () => {
  const pool = { name: 'p', description: '', driver: 'lvm', config: { 'lvm.use_thinpool': 'true' } };
  const config = { ...pool, config: { 'lvm.use_thinpool': unknownValue } };
  const { replace, diagnostics } = await planOf(storagePool, pool, config);
  expect(diagnostics).toEqual([]);
  expect(replace).toEqual([[{ attribute: 'config' }, { key: 'lvm.use_thinpool' }]]);
});
