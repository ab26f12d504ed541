// Accepts requests that a browser sends for a web page only when the page is our own. Pure.
import { isIP } from 'node:net';

export interface OriginFacts {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** `Sec-Fetch-Site`: browsers alone send it, and pages cannot set it. */
  readonly site: string | undefined;
  /** The configured public URL. */
  readonly url: string | undefined;
}

/** The reason for a refusal; programs send neither header. */
export function crossOriginProblem({ origin, host, site, url }: OriginFacts): string | undefined {
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return 'the request comes from a page of another site';
  if (origin === undefined || isOwn(origin, host) || (url !== undefined && origin === new URL(url).origin))
    return undefined;
  return `the request comes from a page of ${JSON.stringify(origin.slice(0, 200))}`;
}

function isOwn(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin) || !URL.canParse(`http://${host}`)) return false;
  const { protocol, host: place } = new URL(origin);
  return /^https?:$/.test(protocol) && place === new URL(`${protocol}//${host}`).host;
}

/**
 * Prevents DNS rebinding, where a page points its own name at our address and then reads what anonymous callers may read. Only
 * our own names and plain addresses pass.
 */
export function isOwnName(host: string | undefined, listen: string, url: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname;
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true;
  return name === listen.toLowerCase() || (url !== undefined && name === new URL(url).hostname);
}
