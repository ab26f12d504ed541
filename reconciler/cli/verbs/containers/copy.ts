// `gantry copy` and `gantry move`: a container on this server, or from one server to another.
import type { Client } from '../../../../server/client/client.ts';
import {
  copyContainer,
  migrationModes,
  moveContainer,
  type ContainerAt,
  type CopyOptions,
  type MigrationMode,
} from '../../../../server/client/channels/migrate.ts';
import type { OpenContext } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import type { CliOptions } from '../../flags/options.ts';
import { withClient } from '../../session/session.ts';
import { usageError } from '../../errors/usage-error.ts';

export interface CopyFlags extends CliOptions {
  readonly targetHost?: string;
  readonly targetClientCert?: string;
  readonly targetClientKey?: string;
  readonly targetServerCert?: string;
  readonly containerOnly?: boolean;
  readonly refresh?: boolean;
  readonly storage?: string;
  /** --live: true, --no-live: false. */
  readonly live?: boolean;
}

export async function copy(
  context: OpenContext,
  verb: 'copy' | 'move',
  args: readonly string[],
  flags: CopyFlags,
): Promise<ExitCode> {
  const [name = '', target = name] = args;
  if (target.includes('/')) throw usageError(`${target} cannot be the name of a copy: give one as the second argument`);
  const options = { ...optionsOf(flags), ...reporting(context) };
  await withTarget(context, flags, async (from, to) => {
    if (from.host === to.host && name === target && flags.storage === undefined)
      throw usageError('give the copy another name, or --target-host');
    const sides: readonly [ContainerAt, ContainerAt] = [
      { client: from, name },
      { client: to, name: target },
    ];
    await (verb === 'copy' ? copyContainer : moveContainer)(...sides, options, context.cancel);
  });
  return exitCodes.ok;
}

/** The options of the source with what was said of the target in their place. */
async function withTarget(
  context: OpenContext,
  flags: CopyFlags,
  work: (from: Client, to: Client) => Promise<void>,
): Promise<void> {
  const { targetHost, targetClientCert, targetClientKey, targetServerCert } = flags;
  if (targetHost === undefined) {
    if ((targetClientCert ?? targetClientKey ?? targetServerCert) !== undefined)
      throw usageError('--target-client-cert, --target-client-key and --target-server-cert need --target-host');
    return withClient(context, (client) => work(client, client));
  }
  const { host: _host, serverCert: _pin, embedded: _embedded, runtime: _runtime, ...shared } = context.options;
  const options: CliOptions = {
    ...shared,
    host: targetHost,
    ...(targetClientCert === undefined ? {} : { clientCert: targetClientCert }),
    ...(targetClientKey === undefined ? {} : { clientKey: targetClientKey }),
    ...(targetServerCert === undefined ? {} : { serverCert: targetServerCert }),
  };
  return withClient(context, (from) => withClient({ ...context, options }, (to) => work(from, to)));
}

function optionsOf({ mode, containerOnly, refresh, storage, live }: CopyFlags): CopyOptions {
  if (mode !== undefined && !isMode(mode)) throw usageError(`--mode ${mode} is none of ${migrationModes.join(', ')}`);
  return {
    ...(mode === undefined ? {} : { mode }),
    ...(containerOnly === undefined ? {} : { containerOnly }),
    ...(refresh === undefined ? {} : { refresh }),
    ...(storage === undefined ? {} : { storage }),
    ...(live === undefined ? {} : { live }),
  };
}

const isMode = (mode: string): mode is MigrationMode => (migrationModes as readonly string[]).includes(mode);

/** Both servers tell the same: only what is new is shown. */
function reporting(context: OpenContext): Pick<CopyOptions, 'onUpdate'> {
  let last = '';
  return {
    onUpdate: ({ metadata }) => {
      const text = metadata?.['fs_progress'];
      if (typeof text !== 'string' || text === last) return;
      last = text;
      context.note(text);
    },
  };
}
