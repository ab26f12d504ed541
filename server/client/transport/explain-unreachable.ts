// Explains why a host could not be reached and the remedy; inspects only the socket file.
import { lstat } from 'node:fs/promises';
import { ClientError, errnoOf } from '../client-error.ts';
import { renderEndpoint, type Endpoint } from './host-endpoint.ts';

const certificateCodes =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|ERR_GANTRY_PIN)/;

/** The error for a call without an answer; `cause` is the connection's error. */
export async function explainUnreachable(endpoint: Endpoint, what: string, cause: unknown): Promise<ClientError> {
  const code = errnoOf(cause) ?? '';
  const where = `${what}: cannot reach ${renderEndpoint(endpoint)}`;
  if (endpoint.kind === 'unix') {
    return new ClientError('unreachable', `${where}: ${await socketAdvice(endpoint.path, code, cause)}`, { cause });
  }
  if (certificateCodes.test(code)) {
    const text = cause instanceof Error ? cause.message : code;
    if (/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/.test(code)) {
      const clock = `${text}; the clock of this machine says ${new Date().toISOString()}`;
      const advice = `the server certificate is not valid now (${clock}): renew it on the server, or correct the clock`;
      return new ClientError('untrusted', `${where}: ${advice}`, { cause });
    }
    const advice = `the server certificate is not trusted (${text}); give its fingerprint or PEM as the server certificate, or the CA that signed it`;
    return new ClientError('untrusted', `${where}: ${advice}`, { cause });
  }
  return new ClientError('unreachable', `${where}: ${networkAdvice(endpoint, code, cause)}`, { cause });
}

async function socketAdvice(path: string, code: string, cause: unknown): Promise<string> {
  const facts = await socketFacts(path);
  if (facts.startsWith(noSocket)) return `${facts}; name the socket of the daemon`;
  switch (code) {
    case 'ENOENT':
      return `${facts}; start the daemon (gantryd) or name another host`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied (${facts}); run as root or join the group that owns the socket`;
    case 'ECONNREFUSED':
      return `no process listens on it (${facts}); the daemon has stopped, start it again`;
    default:
      return `${cause instanceof Error ? cause.message : code} (${facts})`;
  }
}

const noSocket = 'it is no socket';

async function socketFacts(path: string): Promise<string> {
  try {
    const found = await lstat(path);
    if (found.isDirectory()) return `${noSocket} but a folder`;
    if (!found.isSocket() && !found.isSymbolicLink()) return `${noSocket} but a file`;
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    const kind = found.isSocket() ? 'the socket exists' : 'it is a link';
    return `${kind}, owner ${found.uid}:${found.gid}, mode ${mode}`;
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? 'there is no such file' : 'its folder cannot be read';
  }
}

function networkAdvice(
  endpoint: { readonly host: string; readonly port: number },
  code: string,
  cause: unknown,
): string {
  switch (code) {
    case 'ECONNREFUSED':
      return `connection refused; is the daemon listening on port ${endpoint.port} (core.https_address)?`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${endpoint.host} cannot be resolved`;
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return 'no route or no answer; check address and firewall';
    default:
      return cause instanceof Error ? cause.message : code;
  }
}
