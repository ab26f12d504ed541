// Bearer tokens of an OpenID Connect issuer: checks them, and caches checked ones, so that later requests need not wait.
import { hash } from 'node:crypto';
import type * as Jose from 'jose';
import { AppError, errors } from '../../api/errors.ts';
import type { Log } from '../../lib/log.ts';
import { reasonOf } from '../../lib/shared/reason.ts';
import { isWithin } from '../../lib/clock.ts';
import type { Issuer, ProxyFor } from './issuer.ts';
import { decidingClaims, grantOf, userName, type Grant, type OidcSettings, type OidcUser } from './settings.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface BearerDeps {
  /** The current settings; the same object until they change. */
  readonly settings: () => OidcSettings | undefined;
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'warn'>;
  /** Default: no proxy. */
  readonly proxyFor?: ProxyFor;
}

export type UserClaims = Readonly<Record<string, unknown>>;

interface CheckedToken {
  readonly claims: Jose.JWTPayload;
  readonly settings: OidcSettings;
  readonly atMs: number;
}

/** Excludes signatures with a shared secret: the secret would be the issuer's public key. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** Real tokens have 1-4 KB. */
const maxLength = 12 * 1024;
const toleranceS = 30;
/** A checked token is checked again after this time: its key may have been withdrawn. */
const recheckMs = 60_000;
const maxChecked = 1000;
/** Max log lines about refused tokens per minute; anyone can send such tokens. */
const maxLinesPerMinute = 20;

export class BearerTokens {
  readonly #deps: BearerDeps;
  /** By SHA-256 of the token, or by the user of another member's token, in the order of their checks. */
  readonly #checked = new Map<string, CheckedToken>();
  #issuer: { readonly url: string; readonly issuer: Issuer } | undefined;
  #lines = { minute: 0, count: 0 };

  constructor(deps: BearerDeps) {
    this.#deps = deps;
  }

  get isOn(): boolean {
    return this.#deps.settings() !== undefined;
  }

  /** Accepts a valid token, which `user` knows from then on. Throws AppError unauthorized, or unavailable if the issuer is. */
  async admit(token: string, address: string): Promise<void> {
    const settings = this.#deps.settings();
    if (settings === undefined || this.#isFresh(token, settings)) return;
    try {
      const claims = await this.#verify(token, settings);
      this.#remember(keyOf(token), { claims, settings, atMs: this.#deps.nowMs() });
    } catch (error) {
      this.#checked.delete(keyOf(token));
      this.#logRefusal(`A token from ${address} was refused: ${reasonOf(error)}`);
      if (error instanceof AppError) throw error;
      throw errors.unauthorized('The token of the request is not accepted: log in again');
    }
  }

  /** The user of an admitted token, while it is valid. Evaluates groups each time: the config may have changed. */
  user(token: string): OidcUser | undefined {
    const settings = this.#deps.settings();
    const found = this.#checked.get(keyOf(token));
    if (settings === undefined || found === undefined || !isSameIssue(found.settings, settings)) return undefined;
    if (this.#isOver(found)) return undefined;
    return { ...grantOf(settings, found.claims), name: userName(found.claims), subject: subjectOf(found) };
  }

  /** The user's rights by the current config and the claims of the last checked token. Undefined: none. */
  grantOf(subject: string): Grant | undefined {
    const settings = this.#deps.settings();
    const found = [...this.#checked.values()].findLast((each) => subjectOf(each) === subject);
    if (settings === undefined || found === undefined || !isSameIssue(found.settings, settings)) return undefined;
    return grantOf(settings, found.claims);
  }

  /** The user's claims, for another member of the cluster that works for the user. */
  claimsOf(subject: string): UserClaims | undefined {
    const found = [...this.#checked.values()].findLast((each) => subjectOf(each) === subject);
    return found === undefined ? undefined : decidingClaims(found.settings, found.claims);
  }

  /** The claims of a user whose token another member has checked: `grantOf` knows the user from then on. */
  learn(claims: UserClaims): void {
    const settings = this.#deps.settings();
    if (settings === undefined) return;
    const learned = { claims, settings, atMs: this.#deps.nowMs() };
    this.#remember(`user ${subjectOf(learned)}`, learned);
  }

  #isFresh(token: string, settings: OidcSettings): boolean {
    const found = this.#checked.get(keyOf(token));
    if (found === undefined || !isSameIssue(found.settings, settings) || this.#isOver(found)) return false;
    return isWithin(recheckMs, found.atMs, this.#deps.nowMs());
  }

  #isOver({ claims, settings }: CheckedToken): boolean {
    return this.#deps.nowMs() >= (endOf(claims, settings) + toleranceS) * 1000;
  }

  async #verify(token: string, settings: OidcSettings): Promise<Jose.JWTPayload> {
    // Loaded with the first token: most daemons have no issuer.
    const [jose, { Issuer: Keys }] = await Promise.all([import('jose'), import('./issuer.ts')]);
    this.#checkClaims(token, settings, jose);
    if (this.#issuer?.url !== settings.issuer) {
      const { nowMs, proxyFor = () => undefined } = this.#deps;
      this.#issuer = { url: settings.issuer, issuer: new Keys(settings.issuer, nowMs, proxyFor) };
    }
    const { signingKey } = settings;
    const key = signingKey === undefined ? this.#issuer.issuer.keyFor : () => knownKey(jose, signingKey);
    const { payload } = await jose.jwtVerify(token, key, {
      algorithms: signingKey === undefined ? algorithms : ['EdDSA'],
      issuer: settings.issuer,
      audience: settings.audience,
      clockTolerance: toleranceS,
      currentDate: new Date(this.#deps.nowMs()),
      requiredClaims: ['exp', 'sub'],
      // Its life begins at its issue, which must not be in the future.
      ...withoutUndefined({ maxTokenAge: settings.longestLifeS }),
    });
    return payload;
  }

  /** Comes before any request to the issuer: an invalid token costs it none. */
  #checkClaims(
    token: string,
    settings: OidcSettings,
    { decodeProtectedHeader, decodeJwt }: Pick<typeof Jose, 'decodeProtectedHeader' | 'decodeJwt'>,
  ): void {
    if (token.length > maxLength) throw new Error(`it has ${token.length} characters, more than ${maxLength}`);
    const { alg, typ } = decodeProtectedHeader(token);
    if (alg === undefined || !algorithms.includes(alg))
      throw new Error(`its algorithm ${JSON.stringify(alg)} is not accepted`);
    if (typ !== undefined && !/^(?:application\/)?(?:at\+)?jwt$/i.test(typ))
      throw new Error(`its type ${JSON.stringify(typ)} is not that of an access token`);
    const claims = decodeJwt(token);
    const { iss, exp, sub }: { iss?: unknown; exp?: unknown; sub?: unknown } = claims;
    if (iss !== settings.issuer) throw new Error(`its issuer is ${JSON.stringify(iss)}`);
    if (sub !== undefined && (typeof sub !== 'string' || sub.trim() === ''))
      throw new Error(`its subject ${JSON.stringify(sub)?.slice(0, 40)} names no user`);
    if (typeof exp !== 'number') throw new Error('it never expires');
    if (this.#deps.nowMs() >= (endOf(claims, settings) + toleranceS) * 1000) throw new Error('it has expired');
  }

  #remember(key: string, checked: CheckedToken): void {
    this.#checked.delete(key);
    this.#checked.set(key, checked);
    const [oldest] = this.#checked.keys();
    if (this.#checked.size > maxChecked && oldest !== undefined) this.#checked.delete(oldest);
  }

  #logRefusal(line: string): void {
    const minute = Math.floor(this.#deps.nowMs() / 60_000);
    if (this.#lines.minute !== minute) this.#lines = { minute, count: 0 };
    this.#lines.count += 1;
    if (this.#lines.count > maxLinesPerMinute) return;
    const more = this.#lines.count === maxLinesPerMinute ? '; further ones of this minute are not logged' : '';
    this.#deps.log.warn(`${line.slice(0, 500)}${more}`);
  }
}

/** Users choose names, the issuer chooses subjects. */
const subjectOf = ({ claims, settings }: CheckedToken): string => `${settings.issuer} ${claims.sub ?? ''}`;

const keyOf = (token: string): string => hash('sha256', token);

const isSameIssue = (a: OidcSettings, b: OidcSettings): boolean =>
  a.issuer === b.issuer && a.audience === b.audience && a.signingKey === b.signingKey;

/** Seconds since the epoch. */
const endOf = ({ exp = 0, iat = 0 }: Jose.JWTPayload, { longestLifeS }: OidcSettings): number =>
  longestLifeS === undefined ? exp : Math.min(exp, iat + longestLifeS);

async function knownKey({ importJWK }: Pick<typeof Jose, 'importJWK'>, text: string): Promise<Jose.CryptoKey> {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 32) throw new Error('candid.api.key is no Ed25519 key: 32 bytes in base64');
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, 'EdDSA');
  if (key instanceof Uint8Array) throw new Error('candid.api.key is no public key');
  return key;
}
