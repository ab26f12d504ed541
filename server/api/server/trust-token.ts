// Tokens with which a new client adds its certificate once: base64 of JSON, in LXD's form. Pure.

export interface TrustToken {
  readonly client_name: string;
  /** SHA-256 of the server's certificate, hexadecimal: the client checks it before it sends the token. */
  readonly fingerprint: string;
  /** HOST:PORT of the same server, each. */
  readonly addresses: readonly string[];
  readonly secret: string;
  /** Absent: the token does not expire. */
  readonly expires_at?: string;
}

/** A real token has some hundred characters; each address adds some more. */
const maxLength = 16 * 1024;

export function encodeTrustToken(token: TrustToken): string {
  const bytes = new TextEncoder().encode(JSON.stringify(token));
  return btoa(String.fromCharCode(...bytes));
}

/** Undefined for any other text, such as a password. */
export function decodeTrustToken(text: string): TrustToken | undefined {
  const base64 = text.trim();
  if (base64 === '' || base64.length > maxLength || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const read: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isToken(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

const fields = ['client_name', 'fingerprint', 'secret'] as const;

function isToken(read: unknown): read is TrustToken {
  if (typeof read !== 'object' || read === null) return false;
  const members = read as Readonly<Record<string, unknown>>;
  const addresses = members['addresses'];
  return (
    fields.every((name) => typeof members[name] === 'string' && members[name] !== '') &&
    Array.isArray(addresses) &&
    addresses.every((address) => typeof address === 'string') &&
    ['string', 'undefined'].includes(typeof members['expires_at'])
  );
}
