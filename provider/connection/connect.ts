// Turns settings into a link to a daemon that answers and trusts us; adds our certificate there when a password was given.
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { createClient, type Client, type ClientOptions } from '../../server/client/client.ts';
import { ClientError } from '../../server/client/client-error.ts';
import { compileLess } from '../../server/client/compile-less.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Configured } from '../framework/provider.ts';
import { Activity } from './activity.ts';
import type { Link } from './link.ts';
import { ObjectReader } from './reader.ts';
import type { ReadSettings, Settings } from './settings.ts';

/** Throws DiagnosticError. In a package the first client loads what it is made of: most processes of a plan never get so far. */
export async function openLink({ settings, sources }: ReadSettings, signal: AbortSignal): Promise<Configured<Link>> {
  const options = await clientOptions(settings);
  // undici's parser is WebAssembly: compiling it a second time, better, would hold up the end of a process that lives a second.
  setFlagsFromString('--liftoff-only');
  compileLess();
  const client = malformed(() => createClient(settings.address ?? '', options));
  try {
    const server = await trusted(client, settings, signal);
    const link: Link = {
      client,
      server,
      reader: new ObjectReader(client),
      activity: new Activity(),
      project: settings.project ?? undefined,
      target: settings.target ?? undefined,
    };
    return { client: link, close: () => client.close() };
  } catch (error) {
    await client.close();
    if (error instanceof DiagnosticError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const used = `Settings used: ${sources.join(', ')}.`;
    throw new DiagnosticError([failure('The daemon cannot be used', `${why}.\n\n${used}`, at('address'))], error);
  }
}

function malformed<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const where = /certificate/.test(why) ? 'server_certificate' : 'address';
    throw new DiagnosticError([failure('The provider is configured wrongly', `${why}.`, at(where))], error);
  }
}

async function trusted(client: Client, settings: Settings, signal: AbortSignal): Promise<Link['server']> {
  const first = (await client.server(signal)).metadata;
  if (first.auth === 'trusted') return first;
  const hasCertificate = settings.client_certificate !== null || settings.client_certificate_file !== null;
  if (settings.trust_password !== null && hasCertificate) {
    await client.create('certificate', { type: 'client', password: settings.trust_password }, {}, signal);
    const second = (await client.server(signal)).metadata;
    if (second.auth === 'trusted') return second;
  }
  const how = hasCertificate
    ? 'add this client certificate to the trusted ones on the server, or give its trust_password once'
    : 'give client_certificate and client_key, or their _file forms';
  throw new ClientError('untrusted', `${client.host} does not trust this client: ${how}`, { status: 403 });
}

async function clientOptions(settings: Settings): Promise<ClientOptions> {
  const certificate = await pem(settings, 'client_certificate');
  const key = await pem(settings, 'client_key');
  const tls = {
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
    ...(settings.server_certificate === null ? {} : { serverCertificate: settings.server_certificate }),
  };
  return {
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...(settings.project === null ? {} : { project: settings.project }),
    // Terraform runs ten operations at once, each with reads of its own.
    connections: 16,
  };
}

async function pem(settings: Settings, name: 'client_certificate' | 'client_key'): Promise<string | undefined> {
  const path = settings[`${name}_file`];
  const text = settings[name] ?? (path === null ? undefined : await readText(`${name}_file`, path));
  if (text === undefined) return undefined;
  const expected = name === 'client_key' ? /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/ : /-----BEGIN CERTIFICATE-----/;
  if (expected.test(text)) return text;
  const where = path === null ? name : `${name}_file`;
  const what = name === 'client_key' ? 'no private key' : 'no certificate';
  throw new DiagnosticError([failure(`${where} holds ${what}`, 'It has to be in PEM form.', at(where))]);
}

async function readText(where: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DiagnosticError([failure(`Cannot read ${where}`, `${why}.`, at(where))], error);
  }
}
