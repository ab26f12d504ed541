// A stand-in for Vault, as its API documents it: KV of both versions, three logins, policies by path, tokens that end. It refuses what Vault refuses.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

type Values = Readonly<Record<string, unknown>>;

interface Version {
  readonly data: Values;
  state: 'there' | 'deleted' | 'destroyed';
}

interface Token {
  readonly policy: readonly string[];
  readonly ttlS: number;
  readonly maxEndsMs: number;
  readonly isRenewable: boolean;
  endsMs: number;
}

export interface FakeVaultOptions {
  readonly namespace?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** How long tokens of logins live. */
  readonly ttlS?: number;
  readonly maxTtlS?: number;
  readonly isRenewable?: boolean;
  readonly nowMs?: () => number;
}

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly location?: string;
}

const mounts: Readonly<Record<string, { readonly type: string; readonly options: object | null }>> = {
  'kv/': { type: 'kv', options: { version: '2' } },
  'old/': { type: 'kv', options: { version: '1' } },
  'plain/': { type: 'generic', options: null },
  'database/': { type: 'database', options: null },
};
const refused = (status: number, ...errors: string[]): Answer => ({ status, body: { errors } });
const denied = refused(403, '1 error occurred:\n\t* permission denied\n\n');

export class FakeVault {
  readonly #options: FakeVaultOptions;
  readonly #server: Server;
  readonly #tokens = new Map<string, Token>();
  readonly #secrets = new Map<string, Version[]>();
  readonly roleId = 'role-1';
  /** Secret ids, and for how many logins each is good. */
  readonly secretIds = new Map<string, number>();
  readonly jwts = new Set<string>();
  policy: readonly string[] = ['kv/data/shop/', 'old/shop/', 'plain/shop/'];
  /** Answers all requests with 503. */
  isSealed = false;
  /** Sends everything there, as a member that stands by. */
  activeAddress: string | undefined;
  readonly counts = { logins: 0, renewals: 0, reads: 0 };

  private constructor(options: FakeVaultOptions) {
    this.#options = options;
    const answer: Parameters<typeof createServer>[1] = (request, response) => void this.#answer(request, response);
    this.#server = options.tls === undefined ? createServer(answer) : createSecureServer(options.tls, answer);
  }

  static async start(options: FakeVaultOptions = {}): Promise<FakeVault> {
    const vault = new FakeVault(options);
    await new Promise<void>((resolve) => vault.#server.listen(0, '127.0.0.1', resolve));
    return vault;
  }

  get address(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  write(path: string, data: Values): void {
    this.#secrets.set(path, [...(this.#secrets.get(path) ?? []), { data, state: 'there' }]);
  }

  end(path: string, state: 'deleted' | 'destroyed'): void {
    const last = this.#secrets.get(path)?.at(-1);
    if (last !== undefined) last.state = state;
  }

  token(ttlS = this.#options.ttlS ?? 3600, isRenewable = this.#options.isRenewable ?? true): string {
    const text = `hvs.${randomBytes(12).toString('hex')}`;
    const now = this.#now();
    const maxEndsMs = now + (this.#options.maxTtlS ?? 86_400) * 1000;
    this.#tokens.set(text, { policy: this.policy, ttlS, maxEndsMs, isRenewable, endsMs: now + ttlS * 1000 });
    return text;
  }

  /** The tokens that have not ended. */
  get living(): readonly string[] {
    return [...this.#tokens].filter(([, { endsMs }]) => endsMs > this.#now()).map(([text]) => text);
  }

  revokeAll(): void {
    this.#tokens.clear();
  }

  #now(): number {
    return (this.#options.nowMs ?? Date.now)();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body, location } = await this.#answered(request);
    const more = location === undefined ? {} : { location };
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(body === undefined ? '' : JSON.stringify(body));
  }

  async #answered(request: IncomingMessage): Promise<Answer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '', this.address);
    if (this.isSealed) return refused(503, 'Vault is sealed');
    if (this.activeAddress !== undefined)
      return { status: 307, location: `${this.activeAddress}${url.pathname}${url.search}` };
    const path = decodeURIComponent(url.pathname.slice('/v1/'.length));
    if ((request.headers['x-vault-namespace'] ?? '') !== (this.#options.namespace ?? '')) return denied;
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, string>>);
    if (/^auth\/[^/]+\/login$/.test(path)) return request.method === 'POST' ? this.#login(path, body) : refused(405);
    const given = String(request.headers['x-vault-token'] ?? '');
    if (given === '') return refused(400, 'missing client token');
    const token = this.#tokens.get(given);
    if (token === undefined || token.endsMs <= this.#now()) return refused(403, 'permission denied', 'invalid token');
    if (path === 'auth/token/lookup-self') return { status: 200, body: { data: this.#shown(token) } };
    if (path === 'auth/token/renew-self') return this.#renew(given, token);
    if (path === 'auth/token/revoke-self') {
      this.#tokens.delete(given);
      return { status: 204 };
    }
    if (request.method !== 'GET') return refused(405, 'unsupported operation');
    const mount = path.replace('sys/internal/ui/mounts/', '');
    if (mount !== path) return this.#mount(mount, token);
    return this.#read(path, token, url.searchParams.get('version'));
  }

  #login(
    path: string,
    { role_id: role, secret_id: secret = '', jwt = '', role: name }: Readonly<Record<string, string>>,
  ): Answer {
    if (path === 'auth/approle/login') {
      const uses = this.secretIds.get(secret) ?? 0;
      if (role !== this.roleId || uses === 0) return refused(400, 'invalid role or secret ID');
      this.secretIds.set(secret, uses - 1);
    } else if (path === 'auth/jwt/login' || path === 'auth/kubernetes/login') {
      if (name !== 'shop') return refused(400, `role "${name ?? ''}" could not be found`);
      if (!this.jwts.has(jwt)) return refused(403, 'permission denied');
    } else return denied;
    this.counts.logins += 1;
    const token = this.token();
    const { ttlS, isRenewable } = this.#tokens.get(token) ?? { ttlS: 0, isRenewable: false };
    return { status: 200, body: { auth: { client_token: token, lease_duration: ttlS, renewable: isRenewable } } };
  }

  #renew(text: string, token: Token): Answer {
    if (!token.isRenewable) return refused(400, 'lease is not renewable');
    this.counts.renewals += 1;
    token.endsMs = Math.min(this.#now() + token.ttlS * 1000, token.maxEndsMs);
    const { ttl, renewable } = this.#shown(token);
    return { status: 200, body: { auth: { client_token: text, lease_duration: ttl, renewable } } };
  }

  #shown({ endsMs, isRenewable }: Token): { readonly ttl: number; readonly renewable: boolean } {
    return { ttl: Math.floor((endsMs - this.#now()) / 1000), renewable: isRenewable };
  }

  /** For tokens that may do something below the mount. */
  #mount(path: string, { policy }: Token): Answer {
    const name = `${path.split('/', 1)[0]}/`;
    const found = mounts[name];
    const isSeen = name === 'database/' || policy.some((one) => one.startsWith(name));
    return found === undefined || !isSeen ? denied : { status: 200, body: { data: { path: name, ...found } } };
  }

  #read(path: string, { policy }: Token, version: string | null): Answer {
    this.counts.reads += 1;
    if (!policy.some((one) => path.startsWith(one))) return denied;
    const isSecond = path.startsWith('kv/');
    const versions = this.#secrets.get(isSecond ? path.replace(/^kv\/data\//, 'kv/') : path);
    const number = version === null ? (versions?.length ?? 0) : Number(version);
    const found = versions?.[number - 1];
    if (found === undefined) return refused(404);
    if (!isSecond) return { status: 200, body: { data: found.data } };
    const { state } = found;
    const time = state === 'deleted' ? '2026-01-02T03:04:05.6Z' : '';
    const metadata = { version: number, deletion_time: time, destroyed: state === 'destroyed' };
    return state === 'there'
      ? { status: 200, body: { data: { data: found.data, metadata } } }
      : { status: 404, body: { data: { data: null, metadata } } };
  }
}
