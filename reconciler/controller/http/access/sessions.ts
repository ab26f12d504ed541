// Sessions of browsers, by cookie. They live in memory, so users log in again after a restart.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../contract/index.ts';
import type { TokenUser } from './token-files.ts';

export interface BrowserSession {
  readonly name: string;
  readonly role: Role;
  readonly csrfToken: string;
  readonly expiresAtMs: number;
  /** The groups that the issuer named. */
  readonly groups?: readonly string[];
  /** Addresses that the issuer confirmed. */
  readonly mails?: readonly string[];
  /** The token of the login; the session ends with it. */
  readonly token?: TokenUser;
}

const lifeMs = 12 * 3_600_000;
const maxSessions = 1000;
const secretBytes = 32;

const keyOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');

export class Sessions {
  readonly #nowMs: () => number;
  /** By SHA-256 of the cookie, so that a memory dump reveals no cookies. Oldest first. */
  readonly #sessions = new Map<string, BrowserSession>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Returns the value of the new session's cookie. */
  begin(user: Pick<BrowserSession, 'name' | 'role' | 'token' | 'groups' | 'mails'>): {
    readonly secret: string;
    readonly session: BrowserSession;
  } {
    const secret = randomBytes(secretBytes).toString('base64url');
    const csrfToken = randomBytes(secretBytes).toString('base64url');
    const session = { ...user, csrfToken, expiresAtMs: this.#nowMs() + lifeMs };
    this.#sessions.set(keyOf(secret), session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return { secret, session };
  }

  find(secret: string): BrowserSession | undefined {
    const key = keyOf(secret);
    const session = this.#sessions.get(key);
    if (session === undefined || session.expiresAtMs > this.#nowMs()) return session;
    this.#sessions.delete(key);
    return undefined;
  }

  /** Ends sessions from the issuer, whose roles may have changed. */
  endIssued(): void {
    for (const [key, { token }] of this.#sessions) if (token === undefined) this.#sessions.delete(key);
  }

  end(secret: string): void {
    this.#sessions.delete(keyOf(secret));
  }
}

/** In constant time. */
export function isSameSecret(given: string | undefined, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(wanted));
}
