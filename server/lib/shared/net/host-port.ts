// Hosts and ports as texts. Pure.

/** `host:port` for a URL: IPv6 addresses go in brackets. */
export const joinHostPort = (host: string, port: number): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** `[::1]`, as in a URL, without its brackets. */
export const bareHost = (hostname: string): string => hostname.replaceAll(/^\[|\]$/g, '');
