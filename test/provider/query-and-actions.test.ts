// `terraform query` and actions of Terraform 1.14, over the wire: this test speaks the protocol, since the Terraform of our tests is older.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { objectType, type Attributes } from '../../provider/framework/attribute.ts';
import { listable } from '../../provider/framework/provider.ts';
import type { Value, ValueMap } from '../../provider/framework/value.ts';
import { gantryProvider } from '../../provider/gantry.ts';
import { identityType } from '../../provider/wire/answers.ts';
import { providerService } from '../../provider/wire/calls.ts';
import * as wire from '../../provider/wire/messages.ts';
import { decodeValue, encodeValue } from '../../provider/wire/values.ts';
import { createContainer, seed, type TestDaemon } from '../support/daemons/daemon.ts';
import { useDaemon } from '../support/daemons/emptied.ts';
import { grpcClient, type GrpcAnswer, type GrpcClient } from '../support/terraform/grpc-client.ts';
import { pluginHere } from '../support/terraform/plugin-here.ts';

const provider = gantryProvider({ env: {}, log() {} });
console.log('skipped: terraform query and actions with Terraform itself, since it is older than 1.14');

let daemon: TestDaemon;
let client: GrpcClient;
let stop = (): void => {};

useDaemon((given) => void (daemon = given));
beforeEach(async () => {
  await seed(daemon);
  const plugin = await pluginHere(provider);
  client = grpcClient(plugin.socketPath);
  stop = () => {
    client.close();
    plugin.stop();
  };
  const settings = { address: `unix://${daemon.socketPath}` };
  const { diagnostics } = wire.DiagnosticsReply.decode(
    (await call('ConfigureProvider', wire.ConfigureRequest.encode({ config: valueOf(provider.attributes, settings) })))
      .body,
  );
  expect(diagnostics).toEqual([]);
});
afterEach(() => stop());

async function call(name: string, request: Uint8Array): Promise<GrpcAnswer> {
  const answer = await client.call(providerService + name, request);
  expect(answer, name).toMatchObject({ status: 0 });
  return answer;
}
const valueOf = (attributes: Attributes, values: ValueMap) => {
  const all = Object.keys(attributes).map((name) => [name, values[name] ?? null] as const);
  return { msgpack: encodeValue(objectType(attributes), Object.fromEntries(all)), json: Buffer.alloc(0) };
};

const listingOf = (typeName: string) => {
  const found = listable(provider).find((each) => each.typeName === typeName);
  if (found === undefined) throw new Error(`${typeName} cannot be listed`);
  return found;
};
const resourceOf = (typeName: string) => {
  const found = provider.resources.find((each) => each.typeName === typeName);
  if (found === undefined) throw new Error(`there is no ${typeName}`);
  return found;
};

async function list(typeName: string, config: ValueMap = {}, more: { object?: boolean; limit?: number } = {}) {
  const request = {
    typeName,
    config: valueOf(listingOf(typeName).attributes, config),
    includesObject: more.object === true,
    limit: more.limit ?? 0,
  };
  const { messages } = await call('ListResource', wire.ListRequest.encode(request));
  const { identity, optionalIdentity = [], attributes } = resourceOf(typeName);
  return messages.map((bytes) => {
    const event = wire.ListEvent.decode(bytes);
    return {
      title: event.title,
      problems: event.diagnostics.map(({ summary }) => summary),
      identity: decodeValue(identityType([...identity, ...optionalIdentity]), event.identity?.data),
      object: decodeValue(objectType(attributes), event.object) as Record<string, Value> | null,
    };
  });
}

const actionOf = (typeName: string) => {
  const found = (provider.actions ?? []).find((each) => each.typeName === typeName);
  if (found === undefined) throw new Error(`there is no action ${typeName}`);
  return found;
};
const actionRequest = (typeName: string, config: ValueMap): Uint8Array =>
  wire.ActionRequest.encode({ typeName, config: valueOf(actionOf(typeName).attributes, config) });

async function invoke(typeName: string, config: ValueMap) {
  const { messages } = await call('InvokeAction', actionRequest(typeName, config));
  const events = messages.map((bytes) => wire.ActionEvent.decode(bytes));
  expect(events.slice(0, -1).every(({ completed }) => completed === undefined)).toBe(true);
  return {
    lines: events.flatMap(({ progress }) => progress?.line ?? []),
    problems: events.at(-1)?.completed?.diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`),
  };
}

test('the schema names list resources, each with the type of a resource, and actions', async () => {
  const { listResources, actions, resources } = wire.SchemaReply.decode(
    (await call('GetProviderSchema', Buffer.alloc(0))).body,
  );
  expect(Object.keys(listResources).every((name) => name in resources)).toBe(true);
  expect(Object.keys(listResources)).toContain('gantry_container');
  expect(Object.keys(actions).toSorted()).toEqual([
    'gantry_container_exec',
    'gantry_container_restart',
    'gantry_snapshot_restore',
  ]);
});

test('a list finds containers outside the state, by prefix and limit, and with the whole object on request', async () => {
  for (const name of ['web1', 'web2', 'db']) await createContainer(daemon, name, { config: { 'user.is': name } });
  const scope = { project: null, remote: null };
  expect(await list('gantry_container')).toMatchObject(
    ['db', 'web1', 'web2'].map((name) => ({ title: name, problems: [], identity: { name, ...scope }, object: null })),
  );
  expect(await list('gantry_container', { name_prefix: 'web' }, { limit: 1 })).toMatchObject([{ title: 'web1' }]);
  const [whole] = await list('gantry_container', { name_prefix: 'db' }, { object: true });
  expect(whole?.object).toMatchObject({ name: 'db', config: { 'user.is': 'db' }, status: 'Stopped' });
});

test('every list resource answers, and what it finds can be imported by its identity', async () => {
  await createContainer(daemon, 'web');
  await daemon.ok('POST', '/1.0/containers/web/snapshots', { name: 'before' });
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'data', type: 'custom', config: {} });
  await daemon.call('POST', '/1.0/networks', { name: 'lan0', config: { 'ipv6.address': 'none' } });
  const found: Record<string, readonly string[]> = {};
  for (const { typeName } of listable(provider)) {
    const events = await list(typeName, {}, { object: true });
    expect(events.flatMap(({ problems }) => problems)).toEqual([]);
    expect(events.every(({ object, identity }) => object !== null && identity !== null)).toBe(true);
    found[typeName] = events.map(({ title }) => title);
  }
  expect(found).toMatchObject({
    gantry_container: ['web'],
    gantry_snapshot: ['web/before'],
    gantry_storage_volume: ['default/data'],
    gantry_storage_pool: ['default'],
    gantry_network: ['lan0'],
    gantry_profile: ['default'],
  });
});

test('a list of objects in a place that does not exist says so in place of objects', async () => {
  const [event] = await list('gantry_storage_volume', { pool: 'none' });
  expect(event).toMatchObject({ identity: null, problems: [expect.stringContaining('gantry_storage_volume')] });
  const [other] = await list('gantry_container', { remote: 'west' });
  expect(other?.problems).toEqual(['The provider has no remote "west"']);
});

test('the action gantry_container_restart restarts a container and starts a stopped one', async () => {
  await createContainer(daemon, 'web');
  const config = { container: 'web', stop_timeout: 0 };
  expect(await invoke('gantry_container_restart', config)).toEqual({ lines: ['Starting web'], problems: [] });
  expect(await invoke('gantry_container_restart', config)).toEqual({
    lines: ['Stopping web', 'Starting web'],
    problems: [],
  });
  expect(await daemon.get('/1.0/containers/web')).toMatchObject({ status: 'Running' });
  expect((await invoke('gantry_container_restart', { container: 'gone' })).problems?.[0]).toContain('gone');
});

test('the action gantry_container_exec reports the exit code of the command, and its output only on request', async () => {
  await createContainer(daemon, 'web');
  await daemon.run('PUT', '/1.0/containers/web/state', { action: 'start' });
  const config = { container: 'web', command: ['sh', '-c', 'echo one; echo two; exit $CODE'] };
  const ok = { ...config, environment: { CODE: '0' } };
  expect((await invoke('gantry_container_exec', ok)).lines).toEqual(['The command exited with 0']);
  expect((await invoke('gantry_container_exec', { ...ok, show_output: true })).lines).toEqual([
    'one',
    'two',
    'The command exited with 0',
  ]);
  const failed = await invoke('gantry_container_exec', { ...config, environment: { CODE: '7' } });
  expect(failed).toEqual({ lines: [], problems: [expect.stringMatching(/A command in web failed: It exited with 7/)] });
});

test('the action gantry_snapshot_restore restores a container, and the plan warns about a missing snapshot', async () => {
  await createContainer(daemon, 'web', { config: { 'user.is': 'old' } });
  await daemon.ok('POST', '/1.0/containers/web/snapshots', { name: 'before' });
  await daemon.call('PATCH', '/1.0/containers/web', { config: { 'user.is': 'new' } });
  const plan = async (snapshot: string) =>
    wire.DiagnosticsReply.decode(
      (await call('PlanAction', actionRequest('gantry_snapshot_restore', { container: 'web', snapshot }))).body,
    ).diagnostics;
  expect(await plan('before')).toEqual([]);
  expect(await plan('later')).toMatchObject([{ severity: wire.severities.warning }]);
  const missing = await invoke('gantry_snapshot_restore', { container: 'web', snapshot: 'later' });
  expect(missing.problems).toEqual([expect.stringContaining('There is no snapshot later of a container web')]);
  expect(await invoke('gantry_snapshot_restore', { container: 'web', snapshot: 'before' })).toEqual({
    lines: ['Restoring web to before'],
    problems: [],
  });
  expect((await daemon.get('/1.0/containers/web')).config).toMatchObject({ 'user.is': 'old' });
});

test('a wrong configuration of an action is refused by its validation, with the attribute', async () => {
  const request = actionRequest('gantry_container_restart', { container: 'web', stop_timeout: -1 });
  const { diagnostics } = wire.DiagnosticsReply.decode((await call('ValidateActionConfig', request)).body);
  expect(diagnostics).toMatchObject([{ summary: 'Invalid value of stop_timeout' }]);
});
