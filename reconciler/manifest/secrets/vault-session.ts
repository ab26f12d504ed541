// The token of one user of Vault: it logs in, renews the token before it ends, logs in again when it cannot be renewed, and revokes it at the end.
import { readFile } from 'node:fs/promises';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { mapOf, textOf } from '../../core/documents/json-values.ts';
import { errorsIn, VaultError, VaultHttp, type VaultAnswer, type VaultCall, type VaultPlace } from './vault-http.ts';

export type VaultLogin =
  /** It belongs to the user, and is never revoked here. */
  | { readonly method: 'token'; readonly token: string }
  /** Read again whenever its token is refused: an agent may write newer ones into it. */
  | { readonly method: 'tokenFile'; readonly file: string }
  | { readonly method: 'appRole'; readonly mount: string; readonly roleId: string; readonly secretIdFile: string }
  /** Also that of Kubernetes. `file`: read for each login, since tokens of pods are renewed in place. */
  | { readonly method: 'jwt'; readonly mount: string; readonly role: string; readonly file: string };

export interface VaultSettings extends VaultPlace {
  readonly login: VaultLogin;
}

interface Token {
  readonly text: string;
  readonly sinceMs: number;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
  readonly isRenewable: boolean;
  /** This process got the token by a login. */
  readonly isOwn: boolean;
}

const endMs = 2000;
/** A refused path leads to no new login while the token is newer than this, since a secret id may allow only a few logins. */
const newMs = 5000;

export class VaultSession {
  readonly #http: VaultHttp;
  readonly #login: VaultLogin;
  readonly #nowMs: () => number;
  #token: Token | undefined;
  #working: Promise<Token> | undefined;

  constructor(settings: VaultSettings, nowMs: () => number = Date.now) {
    this.#http = new VaultHttp(settings);
    this.#login = settings.login;
    this.#nowMs = nowMs;
  }

  get host(): string {
    return this.#http.host;
  }

  /** Logs in once more when Vault refuses the token, unless the token is new: then it has no policy for the path. */
  async get(path: string, signal: AbortSignal | undefined): Promise<VaultAnswer> {
    const token = await this.#current(signal);
    const answer = await this.#http.call({ method: 'GET', path, token: token.text }, signal);
    const isNew = this.#nowMs() - token.sinceMs < newMs;
    if (answer.status !== 403 || isNew || this.#login.method === 'token') return answer;
    if (this.#token === token) this.#token = undefined;
    const next = await this.#current(signal);
    return this.#http.call({ method: 'GET', path, token: next.text }, signal);
  }

  /** Revokes the token that it got by a login. Never rejects, since the token also expires. */
  async close(): Promise<void> {
    const token = this.#token;
    this.#token = undefined;
    if (token?.isOwn === true) {
      const call: VaultCall = { method: 'POST', path: 'auth/token/revoke-self', token: token.text };
      await this.#http.call(call, AbortSignal.timeout(endMs)).catch(() => undefined);
    }
    await this.#http.close();
  }

  /** One login or renewal at a time, for all readers. */
  async #current(signal: AbortSignal | undefined): Promise<Token> {
    const now = this.#nowMs();
    if (this.#token !== undefined && now < this.#token.renewAtMs) return this.#token;
    this.#working ??= this.#renewed(signal).finally(() => (this.#working = undefined));
    this.#token = await this.#working;
    return this.#token;
  }

  async #renewed(signal: AbortSignal | undefined): Promise<Token> {
    const old = this.#token;
    if (old?.isRenewable === true && this.#nowMs() < old.endsAtMs) {
      const call: VaultCall = { method: 'POST', path: 'auth/token/renew-self', token: old.text, body: {} };
      const { status, body } = await this.#http.call(call, signal);
      const next = status === 200 ? this.#tokenOf(mapOf(body['auth']), old.isOwn) : undefined;
      // Near the maximum lifetime of a token, a renewal does not extend it.
      if (next !== undefined && next.endsAtMs > old.endsAtMs) return next;
    }
    return this.#loggedIn(signal);
  }

  async #loggedIn(signal: AbortSignal | undefined): Promise<Token> {
    const login = this.#login;
    if (login.method === 'token') return this.#unlimited(login.token);
    if (login.method === 'tokenFile') return this.#lookUp(await lineOf(login.file, 'the token of Vault'), signal);
    const body: JsonObject =
      login.method === 'appRole'
        ? { role_id: login.roleId, secret_id: await lineOf(login.secretIdFile, 'the secret id of Vault') }
        : { role: login.role, jwt: await lineOf(login.file, 'the JWT for Vault') };
    const path = `auth/${login.mount.split('/').map(encodeURIComponent).join('/')}/login`;
    const answer = await this.#http.call({ method: 'POST', path, body }, signal);
    const token = answer.status === 200 ? this.#tokenOf(mapOf(answer.body['auth']), true) : undefined;
    if (token === undefined)
      throw new VaultError(
        'denied',
        `${this.host} refuses the login at auth/${login.mount} (${answer.status}${withReason(answer.body)})`,
      );
    return token;
  }

  /** Looks up the lifetime of a token from a file. */
  async #lookUp(text: string, signal: AbortSignal | undefined): Promise<Token> {
    const call: VaultCall = { method: 'GET', path: 'auth/token/lookup-self', token: text };
    const { status, body } = await this.#http.call(call, signal);
    if (status !== 200)
      throw new VaultError('denied', `${this.host} refuses the token of the file (${status}${withReason(body)})`);
    const { ttl, renewable } = mapOf(body['data']);
    const found = this.#tokenOf({ client_token: text, lease_duration: ttl ?? 0, renewable: renewable ?? false }, false);
    return found ?? this.#unlimited(text);
  }

  #unlimited = (text: string): Token => ({
    text,
    sinceMs: this.#nowMs(),
    renewAtMs: Infinity,
    endsAtMs: Infinity,
    isRenewable: false,
    isOwn: false,
  });

  #tokenOf({ client_token, lease_duration: seconds, renewable }: JsonObject, isOwn: boolean): Token | undefined {
    const text = textOf(client_token);
    if (text === undefined || text === '') return undefined;
    // 0: it never expires, as the root token.
    if (typeof seconds !== 'number' || seconds <= 0) return { ...this.#unlimited(text), isOwn };
    const now = this.#nowMs();
    const [renewAtMs, endsAtMs] = [now + seconds * 667, now + seconds * 1000];
    return { text, sinceMs: now, renewAtMs, endsAtMs, isRenewable: renewable === true, isOwn };
  }
}

const withReason = (body: JsonObject): string => {
  const why = errorsIn(body);
  return why === '' ? '' : `: ${why}`;
};

async function lineOf(file: string, what: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new VaultError('denied', `${what} cannot be read: ${reasonOf(error)}`, { cause: error });
  });
  const line = text.trim();
  if (line === '' || /\s/.test(line)) throw new VaultError('denied', `${what}: the file ${file} must hold one line`);
  return line;
}
