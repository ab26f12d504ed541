// The address of the daemon and the credentials for it, from flags and environment. Opens no connection.
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClientOptions } from '../../../server/client/client.ts';
import type { CliIo } from '../output/process-io.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { parseCount } from '../flags/parse-values.ts';
import type { RunOptions } from '../flags/plan-flags.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

/** What a connection needs. */
export type ConnectOptions = HostOptions & Pick<RunOptions, 'parallelism'>;

/** --host, GANTRY_HOST, GANTRY_SOCKET, then the local daemon's socket of this user. */
export function hostOf(options: HostOptions, io: Pick<CliIo, 'env' | 'userId'>): string {
  const named = options.host?.[0] ?? io.env['GANTRY_HOST'];
  if (named !== undefined && named !== '') return named;
  const socket = io.env['GANTRY_SOCKET'];
  if (socket !== undefined && socket !== '') return `unix://${socket}`;
  const runtime = io.env['XDG_RUNTIME_DIR'];
  const isUsers = io.userId !== 0 && runtime !== undefined && runtime !== '';
  return `unix://${isUsers ? join(runtime, 'gantry/unix.socket') : '/var/lib/gantry/unix.socket'}`;
}

export async function clientOptionsOf(options: ConnectOptions): Promise<ClientOptions> {
  const { clientCert, clientKey, serverCert } = options;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError('--client-cert and --client-key must be given together');
  }
  const isFingerprint = serverCert !== undefined && /^[0-9A-Fa-f:]{64,}$/.test(serverCert);
  const tls = {
    ...(clientCert === undefined ? {} : { certificate: await readPem('--client-cert', clientCert, 'CERTIFICATE') }),
    ...(clientKey === undefined ? {} : { key: await readPem('--client-key', clientKey, 'PRIVATE KEY') }),
    ...(serverCert === undefined
      ? {}
      : { serverCertificate: isFingerprint ? serverCert : await readPem('--server-cert', serverCert, 'CERTIFICATE') }),
    ...(serverCert !== undefined || clientCert === undefined ? {} : await authorityBeside(clientCert)),
  };
  const parallelism = parseCount('--parallelism', options.parallelism);
  return {
    // Each step has a connection of its own.
    ...(parallelism === undefined ? {} : { connections: Math.max(8, parallelism) }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...(options.project === undefined ? {} : { project: options.project }),
  };
}

/** A `client.ca` beside the client certificate: the authority that must have signed the server's certificate. */
async function authorityBeside(clientCert: string): Promise<{ readonly ca?: string }> {
  const path = join(dirname(clientCert), 'client.ca');
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  return isThere ? { ca: await readPem('client.ca', path, 'CERTIFICATE') } : {};
}

async function readPem(flag: string, path: string, what: 'CERTIFICATE' | 'PRIVATE KEY'): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const why = reasonOf(error);
    throw new CliError(`Cannot read ${flag}: ${why}`, exitCodes.usage, error);
  }
  // `RSA PRIVATE KEY` and `EC PRIVATE KEY` are keys too.
  if (!new RegExp(`-----BEGIN (?:[A-Z]+ )?${what}-----`).test(text)) {
    throw usageError(`${flag} ${path} contains no PEM ${what.toLowerCase()}`);
  }
  return text;
}
