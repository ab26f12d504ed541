// The address of the daemon and the credentials for it, from flags and environment. Opens no connection.
import { join } from 'node:path';
import type { ClientOptions } from '../../../server/client/client.ts';
import type { CliIo } from '../output/process-io.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { parseCount } from '../flags/parse-values.ts';
import type { RunOptions } from '../flags/plan-flags.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { CertificateFileError, readTls } from '../../engine/certificate-files.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** What a connection needs. */
export type ConnectOptions = HostOptions &
  Pick<RunOptions, 'parallelism'> & {
    /** Where the flags of certificates are called `--lxd-client-cert` and so on; default: `--`. */
    readonly flagPrefix?: '--lxd-';
  };

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
  const { clientCert, clientKey } = options;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError('--client-cert and --client-key must be given together');
  }
  const tls = await readTls(options, flagNames(options.flagPrefix ?? '--')).catch((error: unknown) => {
    throw error instanceof CertificateFileError ? new CliError(error.message, exitCodes.usage, error) : error;
  });
  const parallelism = parseCount('--parallelism', options.parallelism);
  return {
    // Each concurrent step uses its own connection.
    ...(parallelism === undefined ? {} : { connections: Math.max(8, parallelism) }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...withoutUndefined({ project: options.project }),
  };
}

/** The flags of certificates, as messages name them. */
export const flagNames = (prefix: string): Readonly<Record<'serverCert' | 'clientCert' | 'clientKey', string>> => ({
  serverCert: `${prefix}server-cert`,
  clientCert: `${prefix}client-cert`,
  clientKey: `${prefix}client-key`,
});
