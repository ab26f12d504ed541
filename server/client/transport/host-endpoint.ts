// Parses a host as users write it (`unix:///path`, `https://name:port`) into an endpoint; it opens no connection.
import { joinHostPort } from '../../lib/shared/net/host-port.ts';

export type Endpoint =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'https'; readonly host: string; readonly port: number };

export const defaultPort = 8443;
const maxSocketPath = 107;

/** `unix:///path`, `unix:/path`, a bare absolute path, or `https://host[:port]`. Throws an Error that lists the accepted forms. */
export function parseEndpoint(text: string): Endpoint {
  const [, long, short] = /^unix:(?:\/\/(\/.+)|(\/(?!\/).+))$/.exec(text) ?? [];
  const unixPath = long ?? short ?? (text.startsWith('/') ? text : undefined);
  if (unixPath !== undefined) {
    // The kernel's limit: Node would connect to what the cut path names.
    if (Buffer.byteLength(unixPath) > maxSocketPath)
      throw new Error(
        `The path of a socket may have ${maxSocketPath} bytes; ${unixPath} is longer: name a shorter link to its folder`,
      );
    return { kind: 'unix', path: unixPath };
  }
  if (text.startsWith('https://') && URL.canParse(text)) {
    const url = new URL(text);
    if (
      url.username === '' &&
      url.password === '' &&
      url.search === '' &&
      (url.pathname === '/' || url.pathname === '')
    ) {
      return {
        kind: 'https',
        host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
        // URL drops :443, which is the default of https but not of this API.
        port: url.port === '' ? (/:443\/?$/.test(text) ? 443 : defaultPort) : Number(url.port),
      };
    }
  }
  throw new Error(
    `The host ${JSON.stringify(text)} is not understood: write unix:///path/to/unix.socket or https://name:${defaultPort}`,
  );
}

/** One host, or several https addresses of one cluster separated by commas. */
export function parseEndpoints(text: string): readonly [Endpoint, ...Endpoint[]] {
  const parts = text.startsWith('https://') ? text.split(',').map((part) => part.trim()) : [text];
  const [first = parseEndpoint(text), ...others] = parts.map(parseEndpoint);
  const strange = others.find((one) => one.kind !== 'https');
  if (strange !== undefined)
    throw new Error(
      `${renderEndpoint(strange)} cannot be one of several addresses: only https://name:${defaultPort} can`,
    );
  return [first, ...others];
}

export const renderEndpoints = (endpoints: readonly Endpoint[]): string => endpoints.map(renderEndpoint).join(',');

export function renderEndpoint(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix://${endpoint.path}`;
  return `https://${joinHostPort(endpoint.host, endpoint.port)}`;
}
