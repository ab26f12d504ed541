// The server of a controller's API: sockets, TLS, time limits. Composes the parts of http/.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { Controller } from '../controller.ts';
import { type AttemptLimits, Attempts } from '../../../server/lib/shared/attempts.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { Authenticator, type AuthenticatorDeps } from './access/authenticator.ts';
import { isTrusted } from './access/client-address.ts';
import { shareConnections } from './access/connection-shares.ts';
import { Gate } from './access/gate.ts';
import { IssuerLogin } from './access/issuer-login.ts';
import { Sessions } from './access/sessions.ts';
import { Tickets, type TicketUser } from './access/tickets.ts';
import { TokenFiles } from './access/token-files.ts';
import { buildApp, type HttpLog } from './app.ts';
import { ControllerMetrics } from './metrics.ts';
import { routesOf } from './routes.ts';
import { securityHeaders } from './security-headers.ts';
import { joinHostPort } from '../../../server/lib/shared/net/host-port.ts';
import { splitAddress, type HttpSettings, type TlsFiles } from './settings.ts';
import { PageFiles } from './static-files.ts';
import { Consoles } from './streams/console.ts';
import { EventStream } from './streams/event-stream.ts';
import type { ReceiveWebhook } from '../sources/webhooks/receive-webhooks.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface ListenerDeps {
  readonly controller: Controller;
  readonly settings: HttpSettings;
  readonly log: HttpLog;
  /** Directory of the built page; absent or empty: only the API is served. */
  readonly pageDirectory?: string;
  readonly webhooks?: ReceiveWebhook;
  /** Absent: no audit log is written. */
  readonly audit?: AuditLog;
  readonly nowMs?: () => number;
  /** How long the head of a request may take; its body three times that, a pause in its answer six times. Default 10 s. */
  readonly patienceMs?: number;
}

export interface HttpListener {
  /** The URL of the API, without a slash at its end. */
  readonly url: string;
  /** The address that logs a browser in, once. */
  ticketUrl(user: TicketUser): string;
  /** Checks new logins and rights; the returned function activates them. Rejects if a token file cannot be used. */
  prepare(access: AccessSettings): Promise<() => void>;
  close(): Promise<void>;
}

export type AccessSettings = Pick<HttpSettings, 'auth' | 'anonymous' | 'console' | 'trustedProxies'>;

type Changeable<T> = { -readonly [K in keyof T]: T[K] };

const maxConnections = 1000;
/** A proxy on the same host connects for many, so loopback has no limit. */
const maxOfAddress = maxConnections / 4;
const rereadTlsMs = 60_000;
const tokenLimits: AttemptLimits = { free: 5, firstDelayMs: 1000, maxDelayMs: 60_000, maxAddresses: 4096 };

/** Throws when the address, a certificate or a token file cannot be used. */
export async function listen(deps: ListenerDeps): Promise<HttpListener> {
  const { controller, log, nowMs = Date.now } = deps;
  const settings: Changeable<HttpSettings> = { ...deps.settings };
  const { host, port } = splitAddress(settings.listen);
  const tokens = await TokenFiles.open(settings.auth?.tokens ?? [], nowMs, (message) => log.warn(message));
  const { server, closeTls } = await createListener(settings.tls, log, deps.patienceMs ?? 10_000);
  shareConnections(server, {
    perAddress: maxOfAddress,
    isExempt: (address) => isTrusted(address, ['127.0.0.0/8', '::1', ...(settings.trustedProxies ?? [])]),
    log,
  });
  const events = new EventStream(controller);
  const metrics = new ControllerMetrics(controller, () => events.size);
  try {
    const sessions = new Sessions(nowMs);
    const tickets = new Tickets(nowMs);
    const attempts = new Attempts(nowMs, tokenLimits);
    const onLogin = (outcome: 'accepted' | 'refused' | 'throttled'): void => metrics.loggedIn(outcome);
    const gate = new Gate({ controller, settings, audit: deps.audit });
    const onDenied: AuthenticatorDeps['onDenied'] = (asked, error) => void gate.noteDenied(asked, error);
    const mayAsk: Gate['mayAsk'] = (...asked) => gate.mayAsk(...asked);
    const authenticator = new Authenticator({ settings, tokens, sessions, attempts, mayAsk, onDenied, onLogin });
    let issuer: IssuerLogin | undefined;
    const { webhooks } = deps;
    const shared = { authenticator, gate, metrics };
    const handlers = routesOf({
      ...shared,
      controller,
      settings,
      sessions,
      tickets,
      issuer: () => issuer,
      audit: deps.audit,
      webhooks,
      nowMs,
    });
    const page = await PageFiles.read(deps.pageDirectory);
    const headers = securityHeaders(settings.tls !== undefined);
    const consoles = new Consoles({ controller, authenticator, gate, isOn: () => settings.console, headers, log });
    server.on('upgrade', consoles.upgrade);
    server.on('request', await buildApp({ ...shared, handlers, events, page, headers, log }));
    // Last: node answers no request that arrives before somebody handles it.
    await once(server.listen(port, host), 'listening');
    const address = joinHostPort(host, (server.address() as AddressInfo).port);
    const own = `${settings.tls === undefined ? 'http' : 'https'}://${address}`;
    const url = (settings.url ?? own).replace(/\/$/, '');
    const issuerOf = ({ auth }: AccessSettings): IssuerLogin | undefined =>
      auth?.oidc === undefined ? undefined : new IssuerLogin(auth.oidc, `${url}/auth/callback`, nowMs);
    issuer = issuerOf(settings);
    return {
      url,
      ticketUrl: (user) => `${url}/auth/ticket?ticket=${tickets.issue(user)}`,
      prepare: async ({ auth, anonymous, console, trustedProxies }) => {
        const next = await TokenFiles.open(auth?.tokens ?? [], nowMs, (message) => log.warn(message));
        const isIssuerSame = isDeepStrictEqual(auth?.oidc, settings.auth?.oidc);
        return () => {
          tokens.take(next);
          if (!isIssuerSame) {
            issuer = issuerOf({ ...withoutUndefined({ auth }), console });
            sessions.endIssued();
          }
          Object.assign(settings, { auth, anonymous, console, trustedProxies });
        };
      },
      close: async () => {
        closeTls();
        consoles.close();
        events.close();
        metrics.close();
        await closed(server);
      },
    };
  } catch (error) {
    closeTls();
    events.close();
    metrics.close();
    await closed(server);
    throw error;
  }
}

async function createListener(
  tls: TlsFiles | undefined,
  log: HttpLog,
  patienceMs: number,
): Promise<{ readonly server: Server; readonly closeTls: () => void }> {
  // Disconnects clients that send byte by byte or do not read the answer.
  const options = {
    headersTimeout: patienceMs,
    requestTimeout: 3 * patienceMs,
    keepAliveTimeout: 60_000,
    connectionsCheckingInterval: patienceMs / 2,
  };
  const idleMs = 6 * patienceMs;
  if (tls === undefined) return { server: limited(createServer(options), idleMs), closeTls: () => {} };
  let pem = await readTls(tls);
  const server = createTlsServer({ ...options, ...pem, minVersion: 'TLSv1.2' });
  const reread = async (): Promise<void> => {
    const next = await readTls(tls);
    if (next.cert === pem.cert && next.key === pem.key) return;
    server.setSecureContext({ ...next, minVersion: 'TLSv1.2' });
    pem = next;
    log.info(`The new certificate in ${tls.cert} is in use`);
  };
  const timer = setInterval(
    () =>
      void reread().catch((error: unknown) =>
        log.warn(`The certificate in ${tls.cert} cannot be used: ${reasonOf(error)}`),
      ),
    rereadTlsMs,
  ).unref();
  return { server: limited(server, idleMs), closeTls: () => clearInterval(timer) };
}

const readTls = async ({ cert, key }: TlsFiles): Promise<{ readonly cert: string; readonly key: string }> => ({
  cert: await readFile(cert, 'utf8'),
  key: await readFile(key, 'utf8'),
});

function limited<S extends Server>(server: S, idleMs: number): S {
  server.maxConnections = maxConnections;
  server.setTimeout(idleMs);
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 500).unref();
  });
}
