// Connects to the daemon that the settings name and checks that it trusts this client; with a trust password it adds the certificate first.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { decodeTrustToken } from '../../server/api/server/trust-token.ts';
import { createClient, type Client, type ClientOptions } from '../../server/client/client.ts';
import { ClientError } from '../../server/client/client-error.ts';
import { deferOptimization } from '../../server/client/defer-optimization.ts';
import { hint } from '../../server/api/text/nearest-word.ts';
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import { parseDuration } from '../framework/duration.ts';
import { at } from '../framework/path.ts';
import type { Configured } from '../framework/provider.ts';
import { Activity } from './activity.ts';
import type { Link, Reach, Scope } from './link.ts';
import { needed } from './entry-or-create.ts';
import { ObjectReader } from './reader.ts';
import { identityOf, sharesAddress } from './same-server.ts';
import type { ReadSettings, Settings } from './settings.ts';
import { tokenOf } from './token.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

/** Throws DiagnosticError. In a package the first client loads its libraries: most processes of a plan never need them. */
export async function openLink(
  own: ReadSettings,
  remotes: ReadonlyMap<string, ReadSettings>,
  signal: AbortSignal,
): Promise<Configured<Link>> {
  // undici's parser is WebAssembly. V8's optimizing compiler would delay the end of such a short-lived process.
  setFlagsFromString('--liftoff-only');
  deferOptimization();
  const servers = new Servers(own, remotes);
  const client = await servers.at(defaultScope, signal);
  return { client, close: () => servers.close() };
}

const defaultScope: Scope = { remote: null, project: null };

/** One connection for each server, and separate reads for each of its projects. */
class Servers implements Reach {
  readonly remotes: readonly string[];
  readonly #own: ReadSettings;
  readonly #others: ReadonlyMap<string, ReadSettings>;
  readonly #opened = new Map<string, Promise<OpenServer>>();
  readonly #links = new Map<string, Promise<Link>>();

  constructor(own: ReadSettings, others: ReadonlyMap<string, ReadSettings>) {
    this.#own = own;
    this.#others = others;
    this.remotes = [...others.keys()];
  }

  placeOf(scope: Scope): string {
    return JSON.stringify([scope.remote ?? '', this.#projectOf(scope)]);
  }

  #projectOf({ remote, project }: Scope): string {
    return project ?? this.#settingsOf(remote)?.settings.project ?? 'default';
  }

  async isSamePlace(one: Scope, other: Scope): Promise<boolean> {
    if (this.placeOf(one) === this.placeOf(other)) return true;
    if (this.#projectOf(one) !== this.#projectOf(other)) return false;
    const [here, there] = [this.#settingsOf(one.remote), this.#settingsOf(other.remote)];
    if (here === undefined || there === undefined) return false;
    if (one.remote === other.remote || sharesAddress(here.settings.address, there.settings.address)) return true;
    const [first, second] = await Promise.all([this.at(one), this.at(other)]);
    return identityOf(first.server) === identityOf(second.server);
  }

  at(scope: Scope, signal = AbortSignal.timeout(60_000)): Promise<Link> {
    const place = this.placeOf(scope);
    return keptUnlessFailed(this.#links, place, () => this.#link(scope, signal));
  }

  async close(): Promise<void> {
    // A connection that failed has nothing to close.
    await Promise.allSettled([...this.#opened.values()].map(async (opened) => (await opened).client.close()));
  }

  #settingsOf(remote: string | null): ReadSettings | undefined {
    return remote === null ? this.#own : this.#others.get(remote);
  }

  async #link({ remote, project: said }: Scope, signal: AbortSignal): Promise<Link> {
    const read = this.#settingsOf(remote);
    if (read === undefined) throw new DiagnosticError([noRemote(remote ?? '', this.remotes)]);
    const { client, server, activity } = await keptUnlessFailed(this.#opened, remote ?? '', () =>
      open(read, remote, signal),
    );
    const own = read.settings.project ?? undefined;
    const project = said ?? own;
    const inProject = project === own || project === undefined ? client : client.inProject(project);
    const target = read.settings.target ?? undefined;
    const reader = new ObjectReader(inProject);
    return { reach: this, client: inProject, server, reader, activity, project, target };
  }
}

/** The next caller retries after a failure: the server may be up then. */
function keptUnlessFailed<T>(map: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  return needed(map, key, () => {
    const made = make();
    made.catch(() => map.delete(key));
    return made;
  });
}

export const noRemote = (name: string, known: readonly string[]): Diagnostic =>
  failure(
    `The provider has no remote ${JSON.stringify(name)}${hint(name, known)}`,
    known.length === 0
      ? 'Give the provider block remotes with an entry of this name.'
      : `Its remotes are ${known.join(', ')}.`,
    at('remote'),
  );

interface OpenServer {
  readonly client: Client;
  readonly server: Link['server'];
  /** Shared by all projects, since the users of a pool may be in any of them. */
  readonly activity: Activity;
}

async function open(read: ReadSettings, remote: string | null, signal: AbortSignal): Promise<OpenServer> {
  if (remote === null) return openServer(read, signal);
  if (read.unknown.length > 0) {
    const detail = `Its ${read.unknown.join(', ')} is known only after apply. Apply in two steps with -target.`;
    throw new DiagnosticError([failure(`The remote ${remote} is not known yet`, detail, at('remote'))]);
  }
  try {
    return await openServer(read, signal);
  } catch (error) {
    const found = error instanceof DiagnosticError ? error.diagnostics : [];
    const detail = found.map((each) => `${each.summary}: ${each.detail}`).join('\n\n') || String(error);
    throw new DiagnosticError([failure(`The remote ${remote} cannot be used`, detail, at('remote'))], error);
  }
}

async function openServer({ settings, sources }: ReadSettings, signal: AbortSignal): Promise<OpenServer> {
  const options = await clientOptions(settings);
  const client = malformed(() => createClient(settings.address ?? '', options));
  try {
    return { client, server: await trusted(client, settings, signal), activity: new Activity() };
  } catch (error) {
    await client.close();
    if (error instanceof DiagnosticError) throw error;
    const why = reasonOf(error);
    const used = sources.length === 0 ? '' : `\n\nSettings used: ${sources.join(', ')}.`;
    throw new DiagnosticError([failure('The daemon cannot be used', `${why}.${used}`, at('address'))], error);
  }
}

function malformed<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    const why = reasonOf(error);
    const where = /certificate/.test(why) ? 'server_certificate' : 'address';
    throw new DiagnosticError([failure('The provider configuration is invalid', `${why}.`, at(where))], error);
  }
}

async function trusted(client: Client, settings: Settings, signal: AbortSignal): Promise<Link['server']> {
  const first = (await client.server(signal)).metadata;
  if (first.auth === 'trusted') return first;
  const hasCertificate = settings.client_certificate !== null || settings.client_certificate_file !== null;
  const password = settings.trust_password ?? settings.trust_token?.trim();
  if (password !== undefined && hasCertificate) {
    await client.create('certificate', { type: 'client', password }, {}, signal);
    const second = (await client.server(signal)).metadata;
    if (second.auth === 'trusted') return second;
  }
  const hasToken = settings.token !== null || settings.token_file !== null;
  const how = hasToken
    ? 'an administrator must name a group of its user in oidc.groups.trusted or oidc.groups.projects.*'
    : hasCertificate
      ? 'add this client certificate to the trusted certificates of the server, or set trust_token or trust_password once'
      : 'set client_certificate and client_key, or their _file forms, or token';
  throw new ClientError('untrusted', `${client.host} does not trust this client: ${how}`, { status: 403 });
}

async function clientOptions(settings: Settings): Promise<ClientOptions> {
  const certificate = await pem(settings, 'client_certificate');
  const key = await pem(settings, 'client_key');
  const token = await tokenOf(settings, Date.now);
  const made = settings.trust_token === null ? undefined : decodeTrustToken(settings.trust_token);
  const pin = settings.server_certificate ?? token?.serverCertificate ?? made?.fingerprint;
  const tls = {
    ...withoutUndefined({ certificate, key }),
    ...(pin === undefined ? await authority(settings) : { serverCertificate: pin }),
  };
  const silentMs = parseDuration(settings.request_timeout ?? '');
  return {
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...(token === undefined ? {} : { bearer: token.bearer }),
    ...(settings.project === null ? {} : { project: settings.project }),
    ...withoutUndefined({ silentMs }),
    // Terraform runs ten operations at once, each with separate reads.
    connections: 16,
  };
}

/** Reads `client.ca` beside the client certificate: the CA that must have signed the server's certificate. */
async function authority({ client_certificate_file: file }: Settings): Promise<{ readonly ca?: string }> {
  if (file === null) return {};
  const path = join(dirname(file), 'client.ca');
  if (!existsSync(path)) return {};
  const ca = await readText('client_certificate_file', path);
  if (/-----BEGIN CERTIFICATE-----/.test(ca)) return { ca };
  throw new DiagnosticError([
    failure(`${path} holds no certificate`, 'It must be in PEM form.', at('client_certificate_file')),
  ]);
}

async function pem(settings: Settings, name: 'client_certificate' | 'client_key'): Promise<string | undefined> {
  const path = settings[`${name}_file`];
  const text = settings[name] ?? (path === null ? undefined : await readText(`${name}_file`, path));
  if (text === undefined) return undefined;
  const expected = name === 'client_key' ? /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/ : /-----BEGIN CERTIFICATE-----/;
  if (expected.test(text)) return text;
  const where = path === null ? name : `${name}_file`;
  const what = name === 'client_key' ? 'no private key' : 'no certificate';
  throw new DiagnosticError([failure(`${where} holds ${what}`, 'It must be in PEM form.', at(where))]);
}

async function readText(where: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const why = reasonOf(error);
    throw new DiagnosticError([failure(`Cannot read ${where}`, `${why}.`, at(where))], error);
  }
}
