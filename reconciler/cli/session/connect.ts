// Connects a command to its daemon, or to an embedded one.
import { resolve } from 'node:path';
import { connect, type Client, type ClientOptions } from '../../../server/client/client.ts';
import { parseEndpoints, renderEndpoint } from '../../../server/client/transport/host-endpoint.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { ClientError, isNotFound } from '../../../server/client/client-error.ts';
import type { Context, Output } from './context.ts';
import { parseDuration } from '../flags/parse-values.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { clientOptionsOf, flagNames, hostOf, type ConnectOptions } from './host.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { CliError, usageError, commandError } from '../errors/usage-error.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Runs `work` with a client; with --embedded, a daemon runs until it ends. */
export async function withClient<T>(
  context: Context<ConnectOptions>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { options, io } = context;
  if (options.embedded === undefined && options.runtime !== undefined) {
    throw usageError('--runtime needs --embedded');
  }
  if (options.embedded === undefined) return connected(context, hostOf(options, io), work);
  if (options.host !== undefined) throw usageError('--embedded and --host cannot be used together');
  const { startEmbedded } = await import('./embedded.ts');
  const daemon = await startEmbedded(
    { directory: options.embedded, ...withoutUndefined({ runtime: options.runtime }) },
    io.env,
    (text) => context.note(text),
  );
  try {
    context.note(`Started a daemon for this run in ${options.embedded} (runtime ${daemon.runtime})`);
    return await connected(context, daemon.host, work);
  } finally {
    await daemon.stop();
  }
}

/** A client for the host of the flags, which the caller closes. */
export const openClient = (context: Context<ConnectOptions>): Promise<Client> =>
  connectTo(context, hostOf(context.options, context.io));

/** The name of the host in journals: an embedded daemon is named by its directory, since its socket path varies. */
export const hostName = ({ options }: Context<HostOptions>, client: Client): string =>
  options.embedded === undefined ? client.host : `embedded:${resolve(options.embedded)}`;

async function connected<T>(
  context: Context<ConnectOptions>,
  host: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectTo(context, host);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** After this time without an answer a note is printed. */
const silentMs = 3000;

async function connectTo(context: Context<ConnectOptions>, host: string): Promise<Client> {
  const own = await clientOptionsOf(context.options);
  const limit = parseDuration('GANTRY_REQUEST_TIMEOUT', context.io.env['GANTRY_REQUEST_TIMEOUT']);
  const options = {
    ...(await withLogin(context, host, own)),
    ...withoutUndefined({ silentMs: limit }),
    onStale: staleNotice(context, host),
  };
  const timer = setTimeout(() => context.note(`${host} does not answer yet; still waiting`), silentMs);
  try {
    return await connect(host, options, context.stop);
  } catch (error) {
    if (context.stop.aborted) throw stoppedAt(host, context.stop.reason);
    if (error instanceof CliError) throw error;
    if (!(error instanceof ClientError)) throw usageError(reasonOf(error));
    const flags = error.code === 'untrusted' ? ` (${trustAdvice(context.options)})` : '';
    const text =
      error.code === 'timeout'
        ? `${host} accepts connections but does not answer (${error.message}): see the log of that daemon`
        : `${error.message}${flags}`;
    if (isNotFound(error) && context.options.project !== undefined)
      throw commandError(
        `${host} has no project ${context.options.project}: gantry get project shows what there is`,
        error,
      );
    throw new CliError(text, exitCodes.unreachable, error);
  } finally {
    clearTimeout(timer);
  }
}

function trustAdvice({ flagPrefix }: ConnectOptions): string {
  const flags = Object.values(flagNames(flagPrefix ?? '--')).join(', ');
  return flagPrefix === undefined ? flags : `${flags}; on the host of that LXD: lxc config trust add CERTIFICATE`;
}

/** Warns once per command, with --json too, that the data may be stale. */
function staleNotice({ io }: Output, host: string): (reason: string | undefined) => void {
  let isReported = false;
  return (reason) => {
    if (isReported) return;
    isReported = true;
    const why = reason === undefined ? '' : `. ${reason}`;
    io.stderr.write(`${host} answers from its memory, which may be out of date${why}\n`);
  };
}

/** A client certificate goes before a login. */
async function withLogin(
  { io }: Context<ConnectOptions>,
  host: string,
  options: ClientOptions,
): Promise<ClientOptions> {
  if (!host.startsWith('https://') || options.tls?.certificate !== undefined) return options;
  const { readLogin } = await import('./login-file.ts');
  const logins = await Promise.all(addressesOf(host).map((address) => readLogin(io.env, address)));
  const login = logins.find((one) => one !== undefined);
  if (login === undefined) return options;
  const { bearerOf } = await import('./login.ts');
  const pin = login.server_cert === undefined ? {} : { serverCertificate: login.server_cert };
  return { ...options, tls: { ...pin, ...options.tls }, bearer: bearerOf(login, io.env, io.nowMs) };
}

/** Any cluster member with a stored login is usable. */
function addressesOf(host: string): readonly string[] {
  try {
    return parseEndpoints(host).map(renderEndpoint);
  } catch {
    // The client reports what is wrong with the address.
    return [host];
  }
}

/** Adds the host to a timeout that fired before the connection was open. */
const stoppedAt = (host: string, reason: unknown): unknown =>
  reason instanceof CliError && reason.exitCode === exitCodes.error
    ? new CliError(`${reason.message}, and ${host} had not answered`, exitCodes.unreachable, reason)
    : reason;
