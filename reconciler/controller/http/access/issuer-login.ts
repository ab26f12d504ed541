// Logs browsers in at an OpenID Connect issuer: authorization code with PKCE. The claims of the user decide the role.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Configuration } from 'openid-client';
import { networkOf } from '../../../../server/lib/shared/attempts.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { Role } from '../../contract/index.ts';
import { Refusal } from '../refusal.ts';
import type { OidcSettings } from '../settings.ts';
import type { BrowserSession } from './sessions.ts';

interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly endsAtMs: number;
  /** Where the browser is. */
  readonly network: string;
}

const pendingMs = 10 * 60_000;
export const pendingS = pendingMs / 1000;
/** Max pending logins, since anyone may begin one. */
const maxPending = 500;

export class IssuerLogin {
  readonly #settings: OidcSettings;
  readonly #callback: string;
  readonly #nowMs: () => number;
  /** By the secret in the browser's cookie, oldest first. */
  readonly #pending = new Map<string, Pending>();
  #config: Promise<Configuration> | undefined;

  constructor(settings: OidcSettings, callback: string, nowMs: () => number) {
    this.#settings = settings;
    this.#callback = callback;
    this.#nowMs = nowMs;
  }

  /** Returns the redirect URL and the secret for the browser's cookie. */
  async begin(address: string): Promise<{ readonly url: string; readonly secret: string }> {
    const oidc = await import('openid-client');
    const config = await this.#configured();
    const pending: Pending = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      endsAtMs: this.#nowMs() + pendingMs,
      network: networkOf(address),
    };
    const secret = randomBytes(32).toString('base64url');
    this.#pending.set(secret, pending);
    if (this.#pending.size > maxPending) this.#dropOne();
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: this.#callback,
      scope: 'openid profile email groups',
      code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
      state: pending.state,
      nonce: pending.nonce,
    });
    return { url: url.href, secret };
  }

  /** The oldest one of the network with most of them: nobody ends the logins of other networks. */
  #dropOne(): void {
    const secrets = new Map<string, string[]>();
    for (const [secret, { network }] of this.#pending) secrets.set(network, [...(secrets.get(network) ?? []), secret]);
    const [most = []] = [...secrets.values()].toSorted((a, b) => b.length - a.length);
    this.#pending.delete(most[0] ?? '');
  }

  /** `query`: the query of the callback. Throws Refusal. */
  async finish(
    secret: string | undefined,
    query: string,
  ): Promise<Pick<BrowserSession, 'name' | 'role' | 'groups' | 'mails'>> {
    const pending = secret === undefined ? undefined : this.#pending.get(secret);
    if (secret !== undefined) this.#pending.delete(secret);
    if (pending === undefined || pending.endsAtMs <= this.#nowMs())
      throw new Refusal('forbidden', 'This browser has not begun the login, or it took too long: log in again');
    const claims = await this.#claimsOf(query, pending);
    const name = nameOf(claims);
    const role = roleOf(this.#settings, claims);
    if (role === undefined)
      throw new Refusal('forbidden', `${name} has no role here: the claim ${this.#settings.roles.claim} gives none`);
    const { email, email_verified: isVerified } = claims;
    const mails = isVerified === true && typeof email === 'string' ? [email] : [];
    return { name, role, groups: groupsOf(this.#settings, claims), mails };
  }

  async #claimsOf(query: string, { state, nonce, verifier }: Pending): Promise<Readonly<Record<string, unknown>>> {
    const oidc = await import('openid-client');
    const config = await this.#configured();
    try {
      const tokens = await oidc.authorizationCodeGrant(config, new URL(query, this.#callback), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      return { ...tokens.claims() };
    } catch (error) {
      throw new Refusal('forbidden', `${this.#settings.issuer} did not confirm the login: ${reasonOf(error)}`);
    }
  }

  #configured(): Promise<Configuration> {
    this.#config ??= this.#discover().catch((error: unknown) => {
      this.#config = undefined;
      throw new Refusal('unavailable', `The issuer ${this.#settings.issuer} cannot be used: ${reasonOf(error)}`);
    });
    return this.#config;
  }

  async #discover(): Promise<Configuration> {
    const oidc = await import('openid-client');
    const { issuer, clientId, clientSecretFile } = this.#settings;
    const url = new URL(issuer);
    const isLocal = url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
    const secret = clientSecretFile === undefined ? undefined : (await readFile(clientSecretFile, 'utf8')).trim();
    const proof = secret === undefined ? oidc.None() : oidc.ClientSecretPost(secret);
    const execute = [oidc.enableNonRepudiationChecks, ...(isLocal ? [oidc.allowInsecureRequests] : [])];
    return oidc.discovery(url, clientId, undefined, proof, { execute });
  }
}

type Claims = Readonly<Record<string, unknown>>;

function groupsOf({ roles }: Pick<OidcSettings, 'roles'>, claims: Claims): readonly string[] {
  const value = Object.hasOwn(claims, roles.claim) ? claims[roles.claim] : undefined;
  return (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === 'string');
}

/** Undefined: the user has no access. */
export function roleOf(settings: Pick<OidcSettings, 'roles'>, claims: Claims): Role | undefined {
  const { roles } = settings;
  const values = groupsOf(settings, claims);
  const has = (wanted: readonly string[] | undefined): boolean => values.some((one) => wanted?.includes(one) === true);
  if (has(roles.operate)) return 'operate';
  return has(roles.view) ? 'view' : undefined;
}

/** A name for the history. Users can choose nicknames and unconfirmed addresses freely, so the subject is added to those. */
export function nameOf(claims: Claims): string {
  const text = (claim: string): string | undefined => {
    const value = claims[claim];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const subject = text('sub') ?? '?';
  const address = claims['email_verified'] === true ? text('email') : undefined;
  const shown = address ?? text('preferred_username');
  return (shown === undefined ? subject : `${shown} (${subject})`).replaceAll(/[\p{C}\p{Z}]+/gu, ' ').slice(0, 200);
}
