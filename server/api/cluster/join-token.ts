// The token that lets a host join a cluster once: the cluster's addresses, its fingerprint, and the secret. In the form of LXD clients.
// Pure.
import { errors } from '../errors.ts';

export interface JoinToken {
  readonly server_name: string;
  /** SHA-256 of the certificate of the cluster, hexadecimal. */
  readonly fingerprint: string;
  /** Each HOST:PORT. */
  readonly addresses: readonly string[];
  readonly secret: string;
  readonly expires_at: string;
}

export const encodeJoinToken = (token: JoinToken): string => Buffer.from(JSON.stringify(token)).toString('base64');

/** Undefined for a text that is no token, such as a password. */
export function decodeJoinToken(text: string): JoinToken | undefined {
  if (!/^[A-Za-z0-9+/]{40,}={0,2}$/.test(text)) return undefined;
  try {
    const found = JSON.parse(Buffer.from(text, 'base64').toString()) as Partial<JoinToken>;
    const { server_name: name, fingerprint, addresses, secret } = found;
    if (typeof name !== 'string' || typeof fingerprint !== 'string' || typeof secret !== 'string') return undefined;
    if (!Array.isArray(addresses) || !addresses.every((each) => typeof each === 'string')) return undefined;
    return { server_name: name, fingerprint, addresses, secret, expires_at: found.expires_at ?? '' };
  } catch {
    return undefined;
  }
}

/** Throws AppError badRequest. */
export function requireJoinToken(text: string): JoinToken {
  const token = decodeJoinToken(text.trim());
  if (token === undefined)
    throw errors.invalid('cluster membership', [
      { path: 'cluster_token', message: 'is no token: take the whole text that gantry cluster add has printed' },
    ]);
  return token;
}
