// Ephemeral resources: opened with defaults, renewed and closed with the private data from opening, as calls of Terraform and as values.
import { describe, expect, test } from 'vitest';
import { objectType, text } from '../../provider/framework/attribute.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { ephemeralResource } from '../../provider/framework/ephemeral/ephemeral-resource.ts';
import type { AnyProvider } from '../../provider/framework/provider.ts';
import { ProviderServer } from '../../provider/framework/server.ts';
import type { ValueMap } from '../../provider/framework/value.ts';
import type { Methods } from '../../provider/wire/grpc.ts';
import * as wire from '../../provider/wire/messages.ts';
import { providerMethods } from '../../provider/wire/rpcs.ts';
import { decodeValue, encodeValue } from '../../provider/wire/values.ts';

interface Vault {
  readonly log: string[];
  fail?: string;
}

const doc = 'words';
const attributes = {
  name: text({ doc, required: true, check: (name: string) => (name === 'bad' ? 'must not be bad' : undefined) }),
  kind: text({ doc, default: 'plain' }),
  token: text({ doc, computed: true, sensitive: true }),
};
const type = objectType(attributes);

const lease = ephemeralResource<Vault>()({
  typeName: 'toy_lease',
  doc,
  attributes,
  timeoutMs: 50,
  async open({ name, kind }, { client, privateData, signal }) {
    if (client.fail === 'slow')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    if (client.fail !== undefined) throw new Error(client.fail);
    client.log.push(`open ${name} ${kind}`);
    privateData['lease'] = name;
    return { values: { token: `token-of-${name}` }, renewAt: new Date('2026-01-02T03:04:05.678Z') };
  },
  async renew({ client, privateData }) {
    client.log.push(`renew ${privateData['lease']}`);
    privateData['renewed'] = 'yes';
    return new Date('2027-01-01T00:00:00Z');
  },
  async close({ client, privateData }) {
    if (client.fail !== undefined) throw new Error(client.fail);
    client.log.push(`close ${privateData['lease']} renewed=${privateData['renewed'] ?? 'no'}`);
  },
});
const plain = ephemeralResource<Vault>()({
  typeName: 'toy_plain',
  doc,
  attributes,
  open: async () => ({ values: {} }),
});

async function serve(isConfigured = true): Promise<{ vault: Vault; server: ProviderServer<Vault>; calls: Methods }> {
  const vault: Vault = { log: [] };
  const provider: AnyProvider<Vault> = {
    name: 'toy',
    doc,
    attributes: {},
    configure: async () => ({ client: vault, close: async () => {} }),
    resources: [],
    dataSources: [],
    functions: [],
    ephemeralResources: [lease, plain],
    explain: (what, error) => [failure(`Cannot ${what}`, String(error))],
  };
  const server = new ProviderServer(provider);
  if (isConfigured) expect(await server.configure({})).toEqual([]);
  return { vault, server, calls: providerMethods(server) };
}

async function ask(calls: Methods, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const method = calls.get(`/tfplugin6.Provider/${name}`);
  if (method?.kind !== 'unary') throw new Error(`${name} is not served`);
  return method.call(bytes);
}
const config = (more: ValueMap = {}): ValueMap => ({ name: 'a', kind: null, token: null, ...more });
const sent = (values: ValueMap) => ({
  typeName: 'toy_lease',
  config: { msgpack: encodeValue(type, values), json: new Uint8Array() },
});

describe('the calls of an ephemeral resource', () => {
  test('The calls list an ephemeral resource with its schema', async () => {
    const { calls } = await serve();
    const schema = wire.SchemaReply.decode(await ask(calls, 'GetProviderSchema', new Uint8Array()));
    expect(Object.keys(schema.ephemeralResources)).toEqual(['toy_lease', 'toy_plain']);
    const names = schema.ephemeralResources['toy_lease']?.block?.attributes.map(({ name }) => name);
    expect(names).toEqual(['kind', 'name', 'token']);
    const metadata = wire.MetadataReply.decode(await ask(calls, 'GetMetadata', new Uint8Array()));
    expect(metadata.ephemeralResources.map(({ name }) => name)).toEqual(['toy_lease', 'toy_plain']);
  });

  test('The calls open, renew and close an ephemeral resource, each with the private data of the call before', async () => {
    const { calls, vault } = await serve();
    const opened = wire.OpenReply.decode(
      await ask(calls, 'OpenEphemeralResource', wire.OpenRequest.encode(sent(config()))),
    );
    expect(opened.diagnostics).toEqual([]);
    expect(decodeValue(type, opened.result)).toEqual({ name: 'a', kind: 'plain', token: 'token-of-a' });
    expect(opened.renewAt).toEqual({ seconds: Date.parse('2026-01-02T03:04:05Z') / 1000, nanoseconds: 678_000_000 });
    const renewal = wire.RenewRequest.encode({ typeName: 'toy_lease', privateData: opened.privateData });
    const renewed = wire.RenewReply.decode(await ask(calls, 'RenewEphemeralResource', renewal));
    expect(renewed).toMatchObject({ diagnostics: [], renewAt: { seconds: Date.parse('2027-01-01') / 1000 } });
    const closing = wire.RenewRequest.encode({ typeName: 'toy_lease', privateData: renewed.privateData });
    const closed = wire.DiagnosticsReply.decode(await ask(calls, 'CloseEphemeralResource', closing));
    expect(closed.diagnostics).toEqual([]);
    expect(vault.log).toEqual(['open a plain', 'renew a', 'close a renewed=yes']);
  });

  test('The calls validate the configuration, and name an unknown type', async () => {
    const { calls } = await serve();
    const judge = async (typeName: string, values: ValueMap) => {
      const request = wire.TypedConfigRequest.encode({ ...sent(values), typeName });
      const reply = await ask(calls, 'ValidateEphemeralResourceConfig', request);
      return wire.DiagnosticsReply.decode(reply).diagnostics.map(({ summary }) => summary);
    };
    expect(await judge('toy_lease', config())).toEqual([]);
    expect(await judge('toy_lease', config({ name: 'bad' }))).toEqual(['Invalid value of name']);
    expect(await judge('toy_moon', config())).toEqual(['This provider has no ephemeral resource toy_moon']);
  });

  test('A failed open answers with diagnostics and without a result', async () => {
    const { calls, vault } = await serve();
    vault.fail = 'sealed';
    const opened = wire.OpenReply.decode(
      await ask(calls, 'OpenEphemeralResource', wire.OpenRequest.encode(sent(config()))),
    );
    expect(opened.result).toBeUndefined();
    expect(opened.diagnostics[0]).toMatchObject({
      summary: 'Cannot open the ephemeral toy_lease',
      detail: 'Error: sealed',
    });
  });
});

describe('an ephemeral resource', () => {
  test('An ephemeral resource without renew and close stays as it is', async () => {
    const { server } = await serve();
    const served = server.ephemeral('toy_plain');
    const opened = await served.open(config());
    expect(opened).toMatchObject({ result: { name: 'a', token: null }, renewAt: undefined });
    expect(await served.renew({ kept: 'x' })).toEqual({
      privateData: { kept: 'x' },
      renewAt: undefined,
      diagnostics: [],
    });
    expect(await served.close({})).toEqual([]);
  });

  test('A failed close is reported', async () => {
    const { server, vault } = await serve();
    vault.fail = 'sealed';
    expect((await server.ephemeral('toy_lease').close({}))[0]?.summary).toBe('Cannot close the ephemeral toy_lease');
  });

  test('A timeout is reported without advice about timeouts and states, which an ephemeral resource lacks', async () => {
    const { server, vault } = await serve();
    vault.fail = 'slow';
    const { result, diagnostics } = await server.ephemeral('toy_lease').open(config());
    expect(result).toBeNull();
    expect(diagnostics.map(({ summary, detail }) => [summary, detail])).toEqual([
      ['Timed out: open the ephemeral toy_lease', 'It took longer than 0.05 s.'],
    ]);
  });

  test('A provider without configuration opens no ephemeral resource', async () => {
    const { server } = await serve(false);
    const { result, diagnostics } = await server.ephemeral('toy_lease').open(config());
    expect(result).toBeNull();
    expect(diagnostics[0]?.summary).toContain('the provider toy is not configured');
  });
});
