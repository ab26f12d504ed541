// Asks a member of a cluster to admit this host. Sends the secret only to a server with the cluster's certificate.
import { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import type { ClusterAccept, ClusterAccepted } from '../../../api/cluster/cluster.ts';
import { AppError, errors, errorTable, type ErrorCode } from '../../../api/errors.ts';
import { fingerprintOf } from '../../../auth/identify.ts';

export interface KnownCluster {
  /** HOST:PORT each; the first that answers is asked. */
  readonly addresses: readonly string[];
  readonly fingerprint?: string;
  /** PEM */
  readonly certificate?: string;
}

const answerMs = 30_000;
const connectMs = 5_000;
const maxBytes = 1024 * 1024;

/** Throws the member's AppError, or unavailable if none can be asked. */
export async function askToJoin(known: KnownCluster, body: ClusterAccept): Promise<ClusterAccepted> {
  const failures: string[] = [];
  let silent: string | undefined;
  for (const address of known.addresses) {
    try {
      return await ask(address, known, body);
    } catch (error) {
      if (error instanceof AppError) throw afterSilence(error, silent, body.server_name);
      if (error instanceof Unanswered) silent = address;
      failures.push(`${address}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const none = errors.badRequest(
    `No member of the cluster could be asked (${failures.join('; ') || 'no address is known'})`,
  );
  throw afterSilence(none, silent, body.server_name);
}

/** The request was sent, and no complete answer came. */
class Unanswered extends Error {}

/** `silent`: a member that got the request before and did not answer: the token may be used up, and the name taken, by this host itself. */
function afterSilence(error: AppError, silent: string | undefined, name: string): AppError {
  if (silent === undefined) return error;
  const remedy = `If gantry cluster list shows ${name} as offline, remove it with gantry cluster remove ${name} --force, and join with a new token`;
  return new AppError(
    error.code,
    `${error.message}. The member at ${silent} was asked before and did not answer: it may have let this host in. ${remedy}`,
    { cause: error },
  );
}

async function ask(address: string, known: KnownCluster, body: ClusterAccept): Promise<ClusterAccepted> {
  const socket = await dial(address);
  try {
    const { raw } = socket.getPeerCertificate();
    if (!isKnown(raw, known)) {
      throw errors.badRequest(
        `The server at ${address} does not have the certificate of the cluster: nothing was sent to it; check whether the address or the token belongs to another cluster, or is older than the certificate of the cluster: then make a new token`,
      );
    }
    return await exchange(socket, address, body).catch((error: unknown) => {
      throw error instanceof AppError ? error : new Unanswered('it did not answer', { cause: error });
    });
  } finally {
    socket.destroy();
  }
}

function isKnown(raw: Uint8Array | undefined, { fingerprint, certificate }: KnownCluster): boolean {
  if (raw === undefined) return false;
  if (fingerprint !== undefined) return fingerprintOf(raw) === fingerprint.toLowerCase();
  try {
    return certificate !== undefined && new X509Certificate(certificate).raw.equals(raw);
  } catch {
    throw errors.invalid('cluster membership', [
      { path: 'cluster_certificate', message: 'must be a certificate in PEM form' },
    ]);
  }
}

function dial(address: string): Promise<TLSSocket> {
  const url = new URL(`https://${address}`);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || '8443'),
      rejectUnauthorized: false,
      timeout: connectMs,
    });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error(`no answer in ${connectMs / 1000} s`)));
    socket.once('secureConnect', () => {
      socket.setTimeout(answerMs);
      resolve(socket);
    });
  });
}

async function exchange(socket: TLSSocket, address: string, body: ClusterAccept): Promise<ClusterAccepted> {
  const text = JSON.stringify(body);
  const head = ['POST /internal/cluster/accept HTTP/1.1', `host: ${address}`, 'content-type: application/json'];
  socket.write([...head, `content-length: ${Buffer.byteLength(text)}`, 'connection: close', '', text].join('\r\n'));
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) {
    answer += String(chunk);
    if (answer.length > maxBytes) throw new Error('the answer is too long');
  }
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  const { metadata } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { readonly metadata?: unknown };
  if (status === 200) return metadata as ClusterAccepted;
  const { code = '', message = `HTTP ${status}` } = (metadata ?? {}) as {
    readonly code?: string;
    readonly message?: string;
  };
  throw new AppError(Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal', message);
}
