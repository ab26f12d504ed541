// Names, reads and writes the cookies of the controller.

export interface CookieKind {
  readonly isTls: boolean;
  readonly use: 'session' | 'login';
}

/** Browsers accept the prefix __Host- only over TLS, from the host itself and for all of its paths. */
export const cookieName = ({ isTls, use }: CookieKind): string => `${isTls ? '__Host-' : ''}gantry-${use}`;

export interface CookieLife {
  readonly maxAgeS: number;
  /** Browsers send a `Lax` cookie when an issuer redirects back to us. */
  readonly sameSite?: 'Strict' | 'Lax';
  /** The browser came over TLS, which a proxy may have ended. */
  readonly isSecure?: boolean;
}

export const writeCookie = (
  kind: CookieKind,
  value: string,
  { maxAgeS, sameSite = 'Strict', isSecure = kind.isTls }: CookieLife,
): string =>
  `${cookieName(kind)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`;

/** Two cookies of one name: one is planted, so both are ignored. */
export function readCookie(header: string | undefined, kind: CookieKind): string | undefined {
  if (header === undefined || header.length > 8192) return undefined;
  const prefix = `${cookieName(kind)}=`;
  const found = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix));
  const value = found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
  return value !== undefined && /^[\w-]{20,200}$/.test(value) ? value : undefined;
}
