// Authenticates a caller by token or session cookie, or as anonymous. Decides whether the caller may use the endpoint.
import type { IncomingMessage } from 'node:http';
import type { Right, Role } from '../../contract/index.ts';
import type { Endpoint } from '../endpoints.ts';
import { Refusal } from '../refusal.ts';
import { splitAddress, type HttpSettings } from '../settings.ts';
import type { Attempts } from '../../../../server/lib/shared/attempts.ts';
import { clientAddress } from './client-address.ts';
import { readCookie } from './cookies.ts';
import { crossOriginProblem, isOwnName } from './origin.ts';
import { isSameSecret, type BrowserSession, type Sessions } from './sessions.ts';
import type { TokenFiles, TokenUser } from './token-files.ts';

export interface ApiCaller {
  /** The user; absent without a login. */
  readonly name?: string;
  readonly role?: Role;
  readonly via: 'token' | 'session' | 'nothing';
  readonly session?: BrowserSession;
  readonly token?: TokenUser;
}

export interface Denied {
  readonly endpoint: Pick<Endpoint, 'id' | 'right'>;
  readonly caller: ApiCaller;
  readonly from: string;
  readonly set: string | undefined;
}

export interface AuthenticatorDeps {
  readonly settings: HttpSettings;
  readonly tokens: TokenFiles;
  readonly sessions: Sessions;
  readonly attempts: Attempts;
  /** The caller may have the right for some host of the set. */
  readonly mayAsk: (right: Right, caller: ApiCaller, set: string | undefined) => boolean;
  /** Called when a caller with a login is refused. */
  readonly onDenied: (asked: Denied, error: unknown) => void;
  readonly onLogin: (outcome: 'accepted' | 'refused' | 'throttled') => void;
}

export const csrfHeader = 'x-csrf-token';

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #listenHost: string;
  /** Tokens that were accepted once: wrong guesses from the same address do not lock them out. */
  readonly #known = new Set<string>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#listenHost = splitAddress(deps.settings.listen).host;
  }

  /** The address of the client: that of the connection, or the one that trusted proxies name. */
  addressOf({ socket, headers }: IncomingMessage): string {
    return clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#deps.settings.trustedProxies);
  }

  /** Throws Refusal when the caller may not call the endpoint. */
  async admit(
    request: IncomingMessage,
    endpoint: Pick<Endpoint, 'id' | 'access' | 'right' | 'method' | 'mode'>,
    set?: string,
  ): Promise<ApiCaller> {
    if (endpoint.access === 'signed') return { via: 'nothing' };
    const caller = await this.callerOf(request);
    try {
      this.#checkRole(caller, endpoint, set);
    } catch (error) {
      if (caller.via !== 'nothing')
        this.#deps.onDenied({ endpoint, caller, from: this.addressOf(request), set }, error);
      throw error;
    }
    const isEffective = endpoint.method !== 'GET' || endpoint.mode === 'websocket';
    if (isEffective && caller.via !== 'token') this.#checkPage(request, caller, endpoint);
    return caller;
  }

  /** Throws Refusal for a token that is not accepted. */
  async callerOf(request: IncomingMessage): Promise<ApiCaller> {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
      if (token === undefined) throw new Refusal('unauthorized', 'The header Authorization must be: Bearer TOKEN');
      const user = await this.userOf(token, this.addressOf(request));
      return { name: user.name, role: user.role, via: 'token', token: user };
    }
    const session = await this.#sessionOf(request);
    if (session !== undefined) return { name: session.name, role: session.role, via: 'session', session };
    const isOpen = this.#deps.settings.anonymous === 'view';
    if (isOpen && isOwnName(request.headers.host, this.#listenHost, this.#deps.settings.url))
      return { role: 'view', via: 'nothing' };
    return { via: 'nothing' };
  }

  /** Throws Refusal. */
  async userOf(token: string, address: string): Promise<TokenUser> {
    const { tokens, attempts, onLogin } = this.#deps;
    const waitMs = attempts.waitMs(address);
    const user = await tokens.userOf(token);
    if (waitMs > 0 && (user === undefined || !this.#known.has(user.key.toString('hex')))) {
      onLogin('throttled');
      const seconds = Math.ceil(waitMs / 1000);
      throw new Refusal('too-many-requests', `Too many wrong tokens came from ${address}: try again in ${seconds} s`, {
        headers: { 'retry-after': String(seconds) },
      });
    }
    if (user === undefined) {
      attempts.count(address);
      onLogin('refused');
      throw new Refusal('unauthorized', 'The token is not accepted');
    }
    attempts.succeeded(address);
    onLogin('accepted');
    this.#known.add(user.key.toString('hex'));
    return user;
  }

  /** For streams: whether the caller's login is still valid. */
  isStillGood(request: IncomingMessage, { token, session }: ApiCaller): boolean {
    // The refresh is asynchronous: it takes effect at the next check.
    if (token !== undefined || session?.token !== undefined) void this.#deps.tokens.refresh();
    if (token !== undefined) return this.#deps.tokens.holds(token);
    if (session === undefined) return this.#deps.settings.anonymous === 'view';
    const isTokenGood = session.token === undefined || this.#deps.tokens.holds(session.token);
    return isTokenGood && this.#deps.sessions.find(this.cookieOf(request, 'session') ?? '') === session;
  }

  /** The secret in the cookie of the request. */
  cookieOf(request: IncomingMessage, use: 'session' | 'login'): string | undefined {
    return readCookie(request.headers.cookie, { isTls: this.#deps.settings.tls !== undefined, use });
  }

  async #sessionOf(request: IncomingMessage): Promise<BrowserSession | undefined> {
    const secret = this.cookieOf(request, 'session');
    const session = secret === undefined ? undefined : this.#deps.sessions.find(secret);
    if (secret === undefined || session?.token === undefined) return session;
    await this.#deps.tokens.refresh();
    if (this.#deps.tokens.holds(session.token)) return session;
    this.#deps.sessions.end(secret);
    return undefined;
  }

  #checkRole(caller: ApiCaller, { access, right }: Pick<Endpoint, 'access' | 'right'>, set: string | undefined): void {
    if (access === 'none' || access === 'signed' || caller.role === 'operate' || caller.role === access) return;
    if (right !== undefined && caller.via !== 'nothing' && this.#deps.mayAsk(right, caller, set)) return;
    if (caller.via === 'nothing')
      throw new Refusal('unauthorized', 'Log in first: send a token as Authorization: Bearer TOKEN, or use the page', {
        headers: { 'www-authenticate': 'Bearer realm="gantry"' },
      });
    throw new Refusal(
      'forbidden',
      `${caller.name ?? 'The caller'} has the role ${caller.role ?? 'none'}; this needs the role ${access}${right === undefined ? '' : ` or the right ${right}`}`,
    );
  }

  /** Refuses requests that other web pages make a browser send with its cookies. */
  #checkPage(request: IncomingMessage, caller: ApiCaller, { mode }: Pick<Endpoint, 'mode'>): void {
    const { origin, host, 'sec-fetch-site': site, [csrfHeader]: given } = request.headers;
    const shown = { origin, host, site: typeof site === 'string' ? site : undefined, url: this.#deps.settings.url };
    const problem = crossOriginProblem(shown);
    if (problem !== undefined) throw new Refusal('forbidden', `The request is refused: ${problem}`);
    // Pages cannot add headers to a websocket, but browsers always send its origin.
    const isNamed = mode === 'websocket' && origin !== undefined;
    if (caller.session === undefined || isNamed) return;
    if (!isSameSecret(typeof given === 'string' ? given : undefined, caller.session.csrfToken))
      throw new Refusal(
        'forbidden',
        'The request needs the header X-CSRF-Token with the csrfToken of GET /api/v1/session',
      );
  }
}
