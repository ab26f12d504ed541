// Runs a daemon inside this process for one command, with DIR as its state directory. Containers keep running afterwards.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ServerContents } from '../../../server/api/server/server-contents.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { CliError, commandError } from '../errors/usage-error.ts';
import { importFile } from '../../../server/lib/shared/code-cache/import-file.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export interface EmbeddedDaemon {
  /** unix://... */
  readonly host: string;
  /** `lxc` or `sim`. */
  readonly runtime: string;
  stop(): Promise<void>;
}

/** A daemon with the contents of another server, for trying changes. */
export interface DryRunDaemon {
  /** unix://... */
  readonly host: string;
  /** Its files are removed. */
  stop(): Promise<void>;
}

/** The interface of the bundled daemon library, which is loaded on demand. */
export interface DaemonLibrary {
  startEmbeddedDaemon(options: {
    readonly stateDir: string;
    readonly runtime: string;
    readonly warn: (text: string) => void;
  }): Promise<{ readonly socketPath: string; readonly runtime: string; stop(): Promise<void> }>;
  startDryRunDaemon(contents: ServerContents): Promise<{ readonly socketPath: string; stop(): Promise<void> }>;
}

/** Path of the library: beside this program, or where the build puts it; GANTRY_DAEMON_LIBRARY overrides it. */
export function daemonLibrary(
  env: Readonly<Record<string, string | undefined>>,
  flag: '--embedded' | '--dry-run=server' = '--embedded',
): string {
  const named = env['GANTRY_DAEMON_LIBRARY'];
  if (named !== undefined && named !== '') return resolve(named);
  const places = ['./embedded-daemon.js', '../../../bin/embedded-daemon.js', '../../../dist/bin/embedded-daemon.js'];
  const candidates = places.map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) {
    throw new CliError(
      `${flag}: the daemon was not found at ${candidates.join(' or ')}; name it with GANTRY_DAEMON_LIBRARY`,
      exitCodes.unreachable,
    );
  }
  return found;
}

export async function startEmbedded(
  place: { readonly directory: string; readonly runtime?: string },
  env: Readonly<Record<string, string | undefined>>,
  warn: (text: string) => void,
): Promise<EmbeddedDaemon> {
  const path = daemonLibrary(env);
  try {
    const library = (await importFile(pathToFileURL(path).href)) as DaemonLibrary;
    const daemon = await library.startEmbeddedDaemon({
      stateDir: resolve(place.directory),
      runtime: place.runtime ?? 'auto',
      warn,
    });
    return { host: `unix://${daemon.socketPath}`, runtime: daemon.runtime, stop: () => daemon.stop() };
  } catch (cause) {
    const why = reasonOf(cause);
    throw new CliError(`--embedded: the daemon did not start in ${place.directory}: ${why}`, exitCodes.unreachable);
  }
}

export async function startDryRunDaemon(
  contents: ServerContents,
  env: Readonly<Record<string, string | undefined>>,
): Promise<DryRunDaemon> {
  const path = daemonLibrary(env, '--dry-run=server');
  try {
    const library = (await importFile(pathToFileURL(path).href)) as DaemonLibrary;
    const daemon = await library.startDryRunDaemon(contents);
    return { host: `unix://${daemon.socketPath}`, stop: () => daemon.stop() };
  } catch (cause) {
    const why = reasonOf(cause);
    throw commandError(`--dry-run=server: the copy of the daemon did not start: ${why}`, cause);
  }
}
