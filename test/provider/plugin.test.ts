// The plugin as Terraform sees it: handshake, mutual TLS, the services besides the provider, and every kind of wrong caller.
import { X509Certificate } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { ProviderServer } from '../../provider/framework/server.ts';
import { gantryProvider } from '../../provider/gantry.ts';
import { providerService } from '../../provider/wire/calls.ts';
import { grpcStatus } from '../../provider/wire/grpc.ts';
import * as wire from '../../provider/wire/messages.ts';
import { decodeValue, encodeValue } from '../../provider/wire/values.ts';
import { cookie, HandshakeError, startPlugin, type RunningPlugin } from '../../provider/wire/plugin.ts';
import { HealthReply, serving } from '../../provider/wire/plugin-messages.ts';
import { providerMethods } from '../../provider/wire/rpcs.ts';
import { makeSocketPlace } from '../../provider/wire/socket.ts';
import { objectType } from '../../provider/framework/attribute.ts';
import { makeClient, makePair } from '../support/daemons/tls.ts';
import { grpcClient, type GrpcClient } from '../support/terraform/grpc-client.ts';
import { until } from '../support/until.ts';
import { tempFolder } from '../support/temp-folder.ts';

interface Started {
  readonly plugin: RunningPlugin;
  readonly printed: string[];
  readonly exits: number[];
  parent: number;
}

const open: (Started | GrpcClient)[] = [];
afterEach(() => {
  for (const each of open.splice(0, open.length)) {
    if ('plugin' in each) each.plugin.stop();
    else each.close();
  }
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<Started> {
  const server = new ProviderServer(gantryProvider({ env: {}, log() {} }));
  const printed: string[] = [];
  const exits: number[] = [];
  const state = { parent: 1 };
  const plugin = await startPlugin({
    methods: providerMethods(server),
    env: { [cookie.name]: cookie.value, PLUGIN_PROTOCOL_VERSIONS: '5,6', ...env },
    log() {},
    print: (line) => printed.push(line),
    close: () => server.close(),
    exit: (code) => exits.push(code),
    parentPid: () => state.parent,
    now: () => new Date(),
  });
  const started = Object.assign(state, { plugin, printed, exits });
  open.push(started);
  return started;
}

function client(started: Started, tls?: { readonly cert?: string; readonly key?: string }): GrpcClient {
  const made = grpcClient(started.plugin.socketPath, tls);
  open.push(made);
  return made;
}

const rpc = (name: string): string => `${providerService}${name}`;

describe('the handshake', () => {
  test('The handshake is one line with a certificate that Terraform can verify', async () => {
    const { certPem } = await makeClient('terraform');
    const { printed, plugin } = await start({ PLUGIN_CLIENT_CERT: certPem });
    expect(printed).toHaveLength(1);
    const [core, version, network, path, protocol, certificate, ...more] = printed[0]!.trimEnd().split('|');
    expect([core, version, network, path, protocol]).toEqual(['1', '6', 'unix', plugin.socketPath, 'grpc']);
    expect(more).toEqual([]);
    expect(certificate).not.toContain('=');
    const parsed = new X509Certificate(Buffer.from(certificate!, 'base64'));
    expect(parsed.checkHost('localhost', { subject: 'never' })).toBe('localhost');
    expect(parsed.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(new Date(parsed.validFrom).getTime()).toBeLessThan(Date.now() - 60_000);
  });

  test('The handshake is refused to callers other than Terraform, and to versions without protocol 6', async () => {
    await expect(start({ [cookie.name]: 'other' })).rejects.toThrow(HandshakeError);
    await expect(start({ PLUGIN_PROTOCOL_VERSIONS: '5' })).rejects.toThrow(/speaks protocol 6/);
  });

  test('The handshake uses a short path for its socket when the directory for temporary files is long', () => {
    const long = tempFolder('x'.repeat(90));
    const place = makeSocketPlace(long);
    expect(place.path.length).toBeLessThan(104);
    expect(place.path.startsWith(long)).toBe(false);
    place.remove();
    rmSync(long, { recursive: true });
  });
});

test('A thousand certificates are all valid for TLS', async () => {
  const { createSecureContext } = await import('node:tls');
  for (let round = 0; round < 1000; round += 1) {
    const { certPem, keyPem } = await makePair('localhost', {
      subjectAltNames: ['localhost'],
      usage: 'server',
      curve: 'P-256',
    });
    expect(() => createSecureContext({ cert: certPem, key: keyPem })).not.toThrow();
  }
});

describe('mutual TLS', () => {
  test('Mutual TLS admits only the holder of the certificate given at the start', async () => {
    const terraform = await makeClient('terraform');
    const stranger = await makeClient('stranger');
    const started = await start({ PLUGIN_CLIENT_CERT: terraform.certPem });
    const pair = ({ certPem: cert, keyPem: key }: typeof terraform) => ({ cert, key });
    expect((await client(started, pair(terraform)).call('/grpc.health.v1.Health/Check')).status).toBe(grpcStatus.ok);
    await expect(client(started, {}).call('/grpc.health.v1.Health/Check')).rejects.toThrow();
    await expect(client(started, pair(stranger)).call('/grpc.health.v1.Health/Check')).rejects.toThrow();
    await expect(client(started).call('/grpc.health.v1.Health/Check')).rejects.toThrow();
  });
});

describe('the services besides the provider', () => {
  test('The services answer that the plugin is healthy, and keep streams open until the caller ends them', async () => {
    const caller = client(await start());
    const { status, body } = await caller.call('/grpc.health.v1.Health/Check');
    expect([status, HealthReply.decode(body).status]).toEqual([grpcStatus.ok, serving]);
    for (const path of ['/plugin.GRPCStdio/StreamStdio', '/plugin.GRPCBroker/StartStream']) {
      const stream = caller.open(path);
      let isOver = false;
      void stream.ended.then(() => (isOver = true));
      await caller.call('/grpc.health.v1.Health/Check');
      expect(isOver).toBe(false);
      stream.end();
      await stream.ended;
    }
  });

  test('The process ends after it has answered Shutdown, and leaves no socket', async () => {
    const started = await start();
    expect((await client(started).call('/plugin.GRPCController/Shutdown')).status).toBe(grpcStatus.ok);
    await until(() => started.exits.length > 0);
    expect(started.exits).toEqual([0]);
    expect(existsSync(started.plugin.socketPath)).toBe(false);
  });

  test('The process ends when Terraform was killed', async () => {
    const started = await start();
    started.parent = 2;
    await until(() => started.exits.length > 0);
    expect(started.exits).toEqual([0]);
  });
});

describe('calls', () => {
  test('Calls of unknown methods and services are answered UNIMPLEMENTED', async () => {
    const caller = client(await start());
    for (const path of [rpc('GenerateResourceConfig'), rpc('ReadStateBytes'), '/tfplugin5.Provider/GetSchema', '/x']) {
      expect((await caller.call(path)).status, path).toBe(grpcStatus.unimplemented);
    }
  });

  test('Calls with invalid bytes are errors of that call only', async () => {
    const caller = client(await start());
    expect((await caller.raw(rpc('StopProvider'), Buffer.alloc(0))).status).toBe(grpcStatus.invalidArgument);
    expect((await caller.raw(rpc('StopProvider'), Buffer.from([0, 0, 0, 0, 9, 1]))).status).toBe(
      grpcStatus.invalidArgument,
    );
    expect((await caller.raw(rpc('StopProvider'), Buffer.from([1, 0, 0, 0, 0]))).status).toBe(grpcStatus.unimplemented);
    expect((await caller.call(rpc('ReadResource'), Buffer.from([0x0a, 0xff, 0x01]))).status).toBe(grpcStatus.internal);
    expect((await caller.call('/grpc.health.v1.Health/Check')).status).toBe(grpcStatus.ok);
  });

  test('The schema lists every resource, data source and function, and claims only implemented capabilities', async () => {
    const caller = client(await start());
    const schema = wire.SchemaReply.decode((await caller.call(rpc('GetProviderSchema'))).body);
    const metadata = wire.MetadataReply.decode((await caller.call(rpc('GetMetadata'))).body);
    expect(Object.keys(schema.resources).sort()).toEqual(metadata.resources.map(({ name }) => name).sort());
    expect(Object.keys(schema.resources)).toHaveLength(17);
    expect(Object.keys(schema.dataSources)).toHaveLength(14);
    expect(Object.keys(schema.ephemeralResources)).toEqual(['gantry_container_exec', 'gantry_container_file']);
    expect(metadata.ephemeralResources.map(({ name }) => name)).toEqual(Object.keys(schema.ephemeralResources));
    expect(Object.keys(schema.functions)).toEqual(['image_reference', 'parse_size']);
    expect(schema.capabilities).toMatchObject({ planDestroy: true, schemaOptional: true, moveState: true });
    const functions = wire.FunctionsReply.decode((await caller.call(rpc('GetFunctions'))).body);
    expect(functions.functions).toEqual(schema.functions);
    const identities = wire.IdentitySchemasReply.decode((await caller.call(rpc('GetResourceIdentitySchemas'))).body);
    expect(Object.keys(identities.schemas)).toHaveLength(17);
    const attributes = identities.schemas['gantry_snapshot']?.attributes ?? [];
    expect(attributes.map(({ name, requiredForImport }) => [name, requiredForImport])).toEqual([
      ['container', true],
      ['name', true],
      ['remote', false],
      ['project', false],
    ]);
  });

  test('Values of another shape are diagnostics that say so', async () => {
    const caller = client(await start());
    const config = { msgpack: encodeValue('string', 'no object'), json: Buffer.alloc(0) };
    const request = wire.TypedConfigRequest.encode({ typeName: 'gantry_profile', config });
    const reply = wire.DiagnosticsReply.decode((await caller.call(rpc('ValidateResourceConfig'), request)).body);
    expect(reply.diagnostics[0]).toMatchObject({
      severity: wire.severities.error,
      summary: expect.stringContaining('cannot be read'),
    });
    const unknown = wire.TypedConfigRequest.encode({ typeName: 'gantry_spaceship' });
    const other = wire.DiagnosticsReply.decode((await caller.call(rpc('ValidateResourceConfig'), unknown)).body);
    expect(other.diagnostics[0]?.summary).toContain('no resource gantry_spaceship');
  });

  test('Write-only values are refused for versions of Terraform that would store them', async () => {
    const caller = client(await start());
    const { attributes } = gantryProvider({ env: {}, log() {} }).resources.find(
      ({ typeName }) => typeName === 'gantry_server_config',
    )!;
    const config = {
      msgpack: encodeValue(objectType(attributes), { config: {}, trust_password: 'x' }),
      json: Buffer.alloc(0),
    };
    const ask = async (writeOnly: boolean) => {
      const bytes = wire.TypedConfigRequest.encode({
        typeName: 'gantry_server_config',
        config,
        clientCapabilities: { deferral: false, writeOnly },
      });
      return wire.DiagnosticsReply.decode((await caller.call(rpc('ValidateResourceConfig'), bytes)).body).diagnostics;
    };
    expect(await ask(true)).toEqual([]);
    expect((await ask(false))[0]).toMatchObject({ summary: expect.stringContaining('This version of Terraform') });
  });

  test('An old identity gets the parts that it lacked', async () => {
    const caller = client(await start());
    const raw = { json: Buffer.from('{"container":"web","name":"s0"}') };
    const bytes = wire.UpgradeRequest.encode({ typeName: 'gantry_snapshot', version: 0, raw });
    const { body } = await caller.call(rpc('UpgradeResourceIdentity'), bytes);
    const { identity, diagnostics } = wire.UpgradeIdentityReply.decode(body);
    expect(diagnostics).toEqual([]);
    const names = ['container', 'name', 'remote', 'project'];
    const type = {
      kind: 'object',
      members: Object.fromEntries(names.map((name) => [name, 'string'] as const)),
    } as const;
    expect(decodeValue(type, identity?.data)).toEqual({ container: 'web', name: 's0', remote: null, project: null });
  });

  test('A state of an older version is read, and one of a newer version is refused', async () => {
    const caller = client(await start());
    const upgrade = async (version: number, json: string) => {
      const bytes = wire.UpgradeRequest.encode({
        typeName: 'gantry_profile',
        version,
        raw: { json: Buffer.from(json) },
      });
      return wire.UpgradeReply.decode((await caller.call(rpc('UpgradeResourceState'), bytes)).body);
    };
    expect((await upgrade(0, '{"name":"a","attribute_of_the_past":1}')).diagnostics).toEqual([]);
    expect((await upgrade(7, '{"name":"a"}')).diagnostics[0]?.detail).toContain('use the newer provider');
    expect((await upgrade(0, '{"name":')).diagnostics).toHaveLength(1);
    expect((await upgrade(0, '{"name":5}')).diagnostics[0]?.detail).toContain('name is not a string');
  });

  test('Functions return results, or name the wrong argument', async () => {
    const caller = client(await start());
    const run = async (text: string) => {
      const values = [{ msgpack: encodeValue('string', text), json: Buffer.alloc(0) }];
      return wire.CallReply.decode(
        (await caller.call(rpc('CallFunction'), wire.CallRequest.encode({ name: 'parse_size', values }))).body,
      );
    };
    expect((await run('2kB')).result?.msgpack).toEqual(Buffer.from(encodeValue('number', 2000)));
    expect((await run('2 elephants')).failure).toMatchObject({ argument: 0, text: expect.stringContaining('2GiB') });
  });
});
