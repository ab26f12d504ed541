// Opens a channel of another server's operation: a websocket over TLS with the given certificate.
import { createHash, X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { errors } from '../api/errors.ts';
import { checkReach, lookupWithin, type Reach } from '../lib/reach.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { Channel } from '../operations/channels.ts';
import type { DialTarget } from '../services/transfer/migration/connect.ts';
import { channelOf } from './websocket-channel.ts';

const connectTimeoutMs = 10_000;
const keepAliveMs = 30_000;
const maxFrameBytes = 16 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;

export async function dialChannel(target: DialTarget, secret: string, signal: AbortSignal): Promise<Channel> {
  signal.throwIfAborted();
  const url = new URL(target.operation);
  const query = new URLSearchParams(url.search);
  query.set('secret', secret);
  const path = `${url.pathname}/websocket?${query.toString()}`;
  const socket = await openTls(url, target, signal);
  const peer = new WebSocket(`ws://${url.host}${path}`, {
    createConnection: () => socket as unknown as Socket,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    handshakeTimeout: connectTimeoutMs,
    followRedirects: false,
  });
  return opened(peer, socket, url, signal);
}

/** Sends nothing before the certificate has been compared. */
async function openTls(url: URL, { certificate, reach }: DialTarget, signal: AbortSignal): Promise<TLSSocket> {
  const wanted = certificate === undefined ? undefined : fingerprintOf(certificate);
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  if (reach !== undefined) await needReach(host, reach);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: url.port === '' ? 8443 : Number(url.port),
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      ...(reach === undefined ? {} : { lookup: lookupWithin(reach) }),
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: wanted === undefined,
    });
    const end = (error: Error): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.destroy();
      reject(error);
    };
    const refuse = (why: string, cause?: unknown): void =>
      end(errors.internal(`Cannot reach ${url.host} for the migration: ${why}`, cause));
    const aborted = (): void => end(signal.reason as Error);
    const timer = setTimeout(() => refuse(`no connection in ${connectTimeoutMs} ms`), connectTimeoutMs);
    signal.addEventListener('abort', aborted, { once: true });
    // Stays on the socket: an error before the websocket has its own listeners must not end the process.
    socket.on('error', (cause) => refuse(cause.message, cause));
    socket.once('secureConnect', () => {
      const seen = createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex');
      if (wanted !== undefined && wanted !== seen) {
        refuse(`its certificate has the fingerprint ${seen}, the one that was given ${wanted}`);
        return;
      }
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
      resolve(socket);
    });
  });
}

async function needReach(host: string, reach: Reach): Promise<void> {
  try {
    await checkReach(host, reach);
  } catch (error) {
    throw errors.forbidden(`Cannot migrate: ${errorText(error)}`);
  }
}

function fingerprintOf(pem: string): string {
  try {
    return createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
  } catch (cause) {
    throw errors.internal('The certificate that was given for the other server cannot be read', cause);
  }
}

function opened(peer: WebSocket, socket: TLSSocket, url: URL, signal: AbortSignal): Promise<Channel> {
  return new Promise((resolve, reject) => {
    // Made before the handshake ends: frames may arrive with it.
    const channel = channelOf(peer, socket);
    const aborted = (): void => fail(signal.reason as Error);
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', aborted);
      peer.terminate();
      reject(error);
    };
    const refuse = (why: string): void =>
      fail(errors.internal(`Cannot open a channel of ${url.origin}${url.pathname}: ${why}`));
    signal.addEventListener('abort', aborted, { once: true });
    peer.once('open', () => {
      signal.removeEventListener('abort', aborted);
      resolve(channel);
    });
    peer.once('unexpected-response', (_request, response) => {
      void refusal(response).then(refuse);
    });
    peer.once('error', (error) => refuse(error.message));
    peer.once('close', () => refuse('the connection was closed'));
    if (signal.aborted) aborted();
  });
}

async function refusal(response: IncomingMessage): Promise<string> {
  const status = `the server answered ${response.statusCode ?? 0}`;
  let text = '';
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8');
      if (text.length > maxRefusalBytes) break;
    }
    const body = JSON.parse(text) as { readonly metadata?: { readonly message?: unknown }; readonly error?: unknown };
    const message = body.metadata?.message ?? body.error;
    return typeof message === 'string' ? `${status}: ${message}` : status;
  } catch {
    return status;
  }
}
