// The OpenID Connect token with which the provider calls the daemon: from the configuration, or from a file that is re-read before
// the token expires, since `gantry` or another program renews it there.
import { readFile } from 'node:fs/promises';
import { ClientError } from '../../server/client/client-error.ts';
import type { BearerSource } from '../../server/client/transport/transport.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Settings } from './settings.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

interface Read {
  readonly token: string;
  /** Milliseconds since 1970: the expiry in the file, or the time of the next read. */
  readonly endsAt: number;
  readonly isEndKnown: boolean;
  readonly host?: string;
  /** The only certificate of the server that the login accepts. */
  readonly serverCertificate?: string;
}

export interface TokenOfSettings {
  readonly bearer: BearerSource;
  readonly serverCertificate?: string;
}

const marginMs = 30_000;
/** How long a token without a known expiry is used before the file is re-read. */
const rereadMs = 30_000;

/** Undefined without a token. Throws DiagnosticError. */
export async function tokenOf(settings: Settings, nowMs: () => number): Promise<TokenOfSettings | undefined> {
  const { token, token_file: path, address } = settings;
  if (token !== null) {
    const checked = tokenIn(token, 'token');
    return { bearer: { current: () => checked, fresh: () => Promise.resolve(checked) } };
  }
  if (path === null) return undefined;
  const first = await readToken(path, nowMs());
  requireHost(first, path, address ?? '');
  const bearer = new FileToken(path, first, nowMs);
  const { serverCertificate } = first;
  return { bearer, ...withoutUndefined({ serverCertificate }) };
}

class FileToken implements BearerSource {
  readonly #path: string;
  readonly #nowMs: () => number;
  #read: Read;
  #reading: Promise<void> | undefined;

  constructor(path: string, first: Read, nowMs: () => number) {
    this.#path = path;
    this.#read = first;
    this.#nowMs = nowMs;
  }

  readonly current = (): string => this.#read.token;

  readonly fresh = async (): Promise<string> => {
    const { endsAt, isEndKnown } = this.#read;
    if (this.#nowMs() >= endsAt - (isEndKnown ? marginMs : 0))
      await (this.#reading ??= this.#readAgain().finally(() => (this.#reading = undefined)));
    return this.#read.token;
  };

  async #readAgain(): Promise<void> {
    const found = await readToken(this.#path, this.#nowMs());
    requireHost(found, this.#path, this.#read.host ?? found.host ?? '');
    this.#read = found;
    if (!found.isEndKnown || found.endsAt > this.#nowMs()) return;
    const again = `gantry login ${found.host ?? ''}`.trim();
    throw new ClientError(
      'untrusted',
      `the token in ${this.#path} ended at ${new Date(found.endsAt).toISOString()}: log in again with ${again}, or renew it with any gantry command for this host`,
      { status: 401 },
    );
  }
}

/** Only sends a token to the server of its login. */
function requireHost({ host }: Read, path: string, address: string): void {
  if (host === undefined || originOf(host) === originOf(address)) return;
  const detail = `${path} holds the login at ${host}; the address is ${address}. Give the file of the login at this address.`;
  throw new DiagnosticError([failure('The token is for another server', detail, at('token_file'))]);
}

function originOf(address: string): string {
  try {
    return new URL(address).origin;
  } catch {
    return address;
  }
}

async function readToken(path: string, nowMs: number): Promise<Read> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new DiagnosticError([failure('Cannot read token_file', `${reasonOf(error)}.`, at('token_file'))], error);
  }
  if (!text.trimStart().startsWith('{'))
    return { token: tokenIn(text, 'token_file'), endsAt: nowMs + rereadMs, isEndKnown: false };
  const login = loginIn(text);
  const { access_token: token, expires_at: endsAt, host, server_cert: pin } = login;
  if (typeof token !== 'string' || typeof endsAt !== 'number' || typeof host !== 'string') throw notToken('token_file');
  const serverCertificate = typeof pin === 'string' ? { serverCertificate: pin } : {};
  return { token: tokenIn(token, 'token_file'), endsAt, isEndKnown: true, host, ...serverCertificate };
}

function loginIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    throw notToken('token_file');
  }
}

/** Checks the token, which becomes part of a header. */
function tokenIn(text: string, where: 'token' | 'token_file'): string {
  const token = text.trim();
  if (/^[\w.~+/-]+=*$/.test(token)) return token;
  throw notToken(where);
}

const notToken = (where: 'token' | 'token_file'): DiagnosticError =>
  new DiagnosticError([
    failure(
      `${where} holds no token`,
      where === 'token'
        ? 'It must be the text of one token, without quotes and the word Bearer.'
        : 'It must hold one token and nothing else, or be the file that gantry login keeps.',
      at(where),
    ),
  ]);
