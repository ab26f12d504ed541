// Opens a connection to a server through the proxy that HTTPS_PROXY names: HTTP CONNECT, then the caller's own TLS inside.
import { connect as connectNet, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { bareHost, joinHostPort } from '../../lib/shared/net/host-port.ts';
import { proxiesIn, proxyFor } from '../../lib/shared/net/proxy-for.ts';

/** The server behind the proxy. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Tunnel {
  readonly socket: Socket;
  /** Undefined when the socket leads to the target, else an error that names the proxy. */
  readonly opened: Promise<Error | undefined>;
}

/** Undefined: connect directly. Throws if the environment names a proxy that cannot be used. */
export function proxyOf(target: Target, env: Readonly<Record<string, string | undefined>>): URL | undefined {
  const text = proxyFor(new URL(`https://${authorityOf(target)}`), proxiesIn(env));
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new Error(
    `HTTPS_PROXY ${JSON.stringify(withoutPassword(text))} is not understood: write http://HOST:PORT or https://HOST:PORT, or add ${target.host} to NO_PROXY`,
  );
}

export function openTunnel(proxy: URL, target: Target, timeoutMs: number): Tunnel {
  const isTls = proxy.protocol === 'https:';
  const host = bareHost(proxy.hostname);
  const where = { host, port: Number(proxy.port) || (isTls ? 443 : 80) };
  const socket = isTls
    ? connectTls({ ...where, ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }) })
    : connectNet(where);
  const opened = new Promise<Error | undefined>((resolve) => {
    const timer = setTimeout(() => socket.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    const refuse = (why: string, cause?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(tunnelError(proxy, target, why, cause));
    };
    const fail = (error: NodeJS.ErrnoException): void => refuse(reasonOf(error), error);
    // Stays on the socket: the end of a tunnel must not end the process before TLS listens.
    socket.on('error', fail);
    socket.once('close', () => refuse('it closed the connection'));
    const answered = (refusal: string | undefined): void => {
      clearTimeout(timer);
      if (refusal === undefined) resolve(undefined);
      else refuse(refusal);
    };
    requestTunnel(socket, proxy, target).then(answered, fail);
  });
  return { socket, opened };
}

/** Why the proxy refuses; undefined: the socket leads to the target. */
async function requestTunnel(socket: Socket, proxy: URL, target: Target): Promise<string | undefined> {
  // Most connections need no proxy.
  const { request } = await import('node:http');
  const authority = authorityOf(target);
  const hasPassword = proxy.username !== '' || proxy.password !== '';
  return new Promise((resolve, reject) => {
    const asked = request({
      createConnection: () => socket,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...(hasPassword ? { 'proxy-authorization': basicOf(proxy) } : {}) },
    });
    // Node would ask for the end of the connection after the answer.
    asked.removeHeader('connection');
    asked.once('error', reject);
    asked.once('connect', ({ statusCode, statusMessage }, _socket, head) => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(undefined);
      } else if (statusCode === 407) {
        resolve(
          hasPassword
            ? 'it does not accept the user name and password in HTTPS_PROXY'
            : 'it wants a user name and password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT',
        );
      } else resolve(`it answers ${statusCode} ${statusMessage}`.trimEnd());
    });
    asked.end();
  });
}

const basicOf = ({ username, password }: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;

/** Without the password. */
export const renderProxy = (proxy: URL): string => proxy.origin;

const withoutPassword = (text: string): string => text.replace(/\/\/[^@]*@/, '//');

const authorityOf = ({ host, port }: Target): string => joinHostPort(host, port);

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return 'connection refused';
  return code === 'ECONNRESET' ? 'it closed the connection' : message;
}

function tunnelError(proxy: URL, { host }: Target, why: string, cause: Error | undefined): Error {
  const message = `the proxy ${renderProxy(proxy)} (HTTPS_PROXY) does not connect to it: ${why}; NO_PROXY=${host} goes without the proxy`;
  return Object.assign(new Error(message, { cause }), { code: 'ERR_GANTRY_PROXY' });
}
