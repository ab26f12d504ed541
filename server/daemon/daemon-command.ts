// The command line of gantryd: parses flags, starts the daemon, reports when it is ready, stops it on a signal.
import type { DaemonOptions } from './daemon-options.ts';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { pino, type Logger } from 'pino';
import type { Log, LogContext } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import { bool, isTrue } from '../api/text/value-checks.ts';
import { guardOutput } from '../lib/shared/output-stream.ts';
import { runShutdownCommand } from './shutdown-command.ts';
import { notifySystemd } from './notify-systemd.ts';
import { readStoreFlags, storeFlagOptions } from './stores/store-choice.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export const daemonUsage = `Usage: gantryd --state-dir DIR [options]
       gantryd shutdown --state-dir DIR [--timeout SECONDS]
       gantryd store migrate --state-dir DIR --to etcd://... | backup FILE | restore FILE [--replace]
       gantryd cluster list|show|leave|recover-from-quorum-loss|rotate-ca --state-dir DIR [--yes]
       gantryd recover --state-dir DIR [--pool NAME=DRIVER:SOURCE]... [--yes]
       gantryd openapi

shutdown stops all containers, in order, and then the daemon, as for a host that goes down; the next start of the daemon
brings them back. So does the signal SIGPWR. SIGTERM and SIGINT end only the daemon; it outlives its terminal (SIGHUP).
cluster looks after a member whose daemon, or whose cluster, is gone; gantryd cluster --help says more.
recover brings back what the pools have copies of, on a host whose records are lost; gantryd recover --help says more.
store moves records into an etcd (and ends a running daemon for that), writes them to a file, or takes them from one.

Options:
  --state-dir DIR     where everything the daemon keeps lives; its socket is DIR/unix.socket
  --runtime NAME      auto (default), lxc or sim
  --https HOST:PORT   also listen with TLS (else: the server's core.https_address)
  --lxd-socket PATH   also listen there for unmodified clients of LXD (lxc, pylxd, Ansible), in its dialect
  --lxd-https HOST:PORT  the same with TLS
  --group NAME        group that may use the sockets
  --unprivileged-only  refuse privileged containers (also: the variable LXD_UNPRIVILEGED_ONLY=true)
  --store etcd://HOST:PORT[,HOST:PORT...][/NAME]  keep records in an etcd instead of the state directory
  --store-ca FILE, --store-cert FILE, --store-key FILE  TLS to it: its authority, and the client's certificate and key
  --store-login FILE  USER:PASSWORD for it
  --cluster-store etcd://HOST:PORT[,...][/NAME]  where the records go when this host founds a cluster; the files of --store-* lead there, too
  --etcd-path FILE    the program etcd that this member of a cluster runs; default: that of PATH
  --log-level LEVEL   debug, info (default), warn, error
  --help, --version

One JSON line on standard output says when it is ready; log lines go to standard error.
`;

const exitCodes = { ok: 0, failed: 1, usage: 64, readerGone: 141 } as const;

interface Flags extends Pick<
  DaemonOptions,
  'stateDir' | 'runtime' | 'https' | 'group' | 'etcd' | 'clusterStore' | 'etcdPath'
> {
  readonly lxd?: { readonly socket?: string; readonly https?: string };
  readonly unprivilegedOnly: boolean;
  readonly level: string;
}

export async function runDaemonCommand(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'openapi') return printOpenApi();
  if (argv[0] === 'shutdown') return runShutdownCommand(argv.slice(1));
  if (argv[0] === 'recover') return (await import('./recover-command.ts')).runRecoverCommand(argv.slice(1));
  if (argv[0] === 'cluster') return (await import('./cluster/cluster-command.ts')).runClusterCommand(argv.slice(1));
  if (argv[0] === 'store') return (await import('./stores/store-command.ts')).runStoreCommand(argv.slice(1));
  if (argv.includes('--help')) return print(daemonUsage);
  if (argv.includes('--version')) return print(`${(await import('../api/version.ts')).version}\n`);
  const flags = parseFlags(argv);
  if (typeof flags === 'string') {
    process.stderr.write(`gantryd: ${flags}\n\n${daemonUsage}`);
    return exitCodes.usage;
  }
  return serve(flags);
}

/** Returns the exit code: success if the reader has gone (`| head`), an error if the disk is full. */
async function print(text: string): Promise<number> {
  let code: number = exitCodes.ok;
  const output = guardOutput(process.stdout, (loss, error) => {
    code = loss === 'reader-gone' ? exitCodes.readerGone : exitCodes.failed;
    if (loss === 'failed') process.stderr.write(`gantryd: cannot write to standard output: ${error.message}\n`);
  });
  output.write(text);
  await new Promise<void>((written) => process.stdout.write('', () => written()));
  return code;
}

async function printOpenApi(): Promise<number> {
  const { openApiDocument } = await import('../api/endpoints/openapi.ts');
  return print(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
}

function parseFlags(argv: readonly string[]): Flags | string {
  const options = {
    'state-dir': { type: 'string' },
    runtime: { type: 'string', default: 'auto' },
    https: { type: 'string' },
    'lxd-socket': { type: 'string' },
    'lxd-https': { type: 'string' },
    group: { type: 'string' },
    'unprivileged-only': { type: 'boolean', default: false },
    ...storeFlagOptions,
    'cluster-store': { type: 'string' },
    'etcd-path': { type: 'string' },
    'log-level': { type: 'string', default: 'info' },
  } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: false });
    const { runtime, https, group } = values;
    const stateDir = values['state-dir'];
    if (stateDir === undefined) return '--state-dir is required';
    if (runtime !== 'auto' && runtime !== 'lxc' && runtime !== 'sim')
      return `--runtime must be auto, lxc or sim, is ${runtime}`;
    const clusterStore = readStoreFlags({ ...values, store: values['cluster-store'] ?? values.store });
    const etcd = values.store === undefined ? undefined : readStoreFlags(values);
    return {
      stateDir,
      runtime,
      level: values['log-level'],
      unprivilegedOnly: values['unprivileged-only'] || isAskedFor('LXD_UNPRIVILEGED_ONLY'),
      ...withoutUndefined({ etcd }),
      ...(values['cluster-store'] === undefined || clusterStore === undefined ? {} : { clusterStore }),
      ...(values['etcd-path'] === undefined ? {} : { etcdPath: resolve(values['etcd-path']) }),
      ...withoutUndefined({ https, group }),
      ...lxdFlags(values['lxd-socket'], values['lxd-https']),
    };
  } catch (error) {
    return errorText(error);
  }
}

/** Throws for a word that is neither yes nor no: a typo must not open what should be closed. */
function isAskedFor(variable: string): boolean {
  const value = process.env[variable] ?? '';
  const broken = value === '' ? undefined : bool(value);
  if (broken !== undefined) throw new Error(`the variable ${variable} ${broken}, is ${value}`);
  return isTrue(value);
}

function lxdFlags(socket: string | undefined, https: string | undefined): Pick<Flags, 'lxd'> {
  if (socket === undefined && https === undefined) return {};
  return {
    lxd: { ...(socket === undefined ? {} : { socket: resolve(socket) }), ...withoutUndefined({ https }) },
  };
}

/** V8 optimizes code that runs often. Code of a start never runs again: optimizing it saved no time, and kept 4 MB. */
const optimize = (isOn: boolean): void => setFlagsFromString(isOn ? '--opt' : '--no-opt');

/** How long a process may take to end after a failed start. */
const longestEndMs = 3_000;

async function serve(flags: Flags): Promise<number> {
  optimize(false);
  const logger = pino({ level: flags.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, logDestination());
  const log = logTo(logger);
  logNodeWarnings(log);
  // The daemon serves others too, so it outlives the program that started it.
  const output = guardOutput(process.stdout, () => {});
  const stopping = stopSignal();
  outliveTerminal(log);
  const stopStart = new AbortController();
  void stopping.then((name) => stopStart.abort(new Error(`${name} arrived before the start was complete`)));
  try {
    const { startDaemon } = await import('./daemon.ts');
    const daemon = await startDaemon({
      stateDir: resolve(flags.stateDir),
      runtime: flags.runtime,
      ...withoutUndefined({
        https: flags.https,
        group: flags.group,
        lxd: flags.lxd,
        etcd: flags.etcd,
        clusterStore: flags.clusterStore,
        etcdPath: flags.etcdPath,
      }),
      unprivilegedOnly: flags.unprivilegedOnly,
      stopStart: stopStart.signal,
      log,
    });
    const ready = {
      type: 'ready',
      socket: daemon.socketPath,
      https: daemon.httpsAddress() ?? null,
      ...(flags.lxd === undefined
        ? {}
        : { lxd: { socket: flags.lxd.socket ?? null, https: daemon.lxdHttpsAddress() ?? null } }),
      runtime: daemon.runtime,
      reason: daemon.runtimeReason,
      pid: process.pid,
    };
    output.write(`${JSON.stringify(ready)}\n`);
    await notifySystemd(process.env, log);
    optimize(true);
    await ((await stopping) === 'SIGPWR' ? daemon.shutDown() : daemon.stop());
    return exitCodes.ok;
  } catch (error) {
    if (error === stopStart.signal.reason) return ended(log);
    logger.fatal(errorText(error));
    // Resources that a failed start opened must not keep the process.
    setTimeout(() => process.exit(exitCodes.failed), longestEndMs).unref();
    return exitCodes.failed;
  }
}

/** The start was stopped on request. Pending waits must not keep the process. */
function ended(log: Log): number {
  log.info('gantryd was asked to end before it had started');
  setTimeout(() => process.exit(exitCodes.ok), longestEndMs).unref();
  return exitCodes.ok;
}

/** Standard error has only log lines. Node's deprecation warnings concern libraries. */
function logNodeWarnings(log: Log): void {
  process.removeAllListeners('warning').on('warning', ({ name, message }) => {
    log[name === 'DeprecationWarning' ? 'debug' : 'warn'](`Node.js warns (${name}): ${message}`);
  });
}

const maxLogBytes = 1024 * 1024;

/** Standard error. A full disk costs lines, never the daemon; unwritten lines are kept up to a limit and retried. */
function logDestination(): ReturnType<typeof pino.destination> {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: maxLogBytes });
  destination.on('error', () => {});
  return destination;
}

/** Node.js ends at SIGHUP without a word, also under nohup. The daemon outlives the terminal that started it. */
function outliveTerminal(log: Log): void {
  process.on('SIGHUP', () =>
    log.warn('SIGHUP: the terminal or session that started gantryd is gone; gantryd continues, SIGTERM ends it'),
  );
}

type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGPWR';

/** The first signal; SIGTERM or SIGINT after that ends the process at once. */
function stopSignal(): Promise<StopSignal> {
  return new Promise((stop) => {
    const hurry = (): void => process.exit(exitCodes.failed);
    const first = (name: StopSignal) => (): void => {
      for (const each of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(each).on(each, hurry);
      stop(name);
    };
    for (const name of ['SIGTERM', 'SIGINT', 'SIGPWR'] as const) process.on(name, first(name));
  });
}

function logTo(logger: Logger): Log {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, context: LogContext = {}): void =>
      logger[level](context, message);
  const writesDebug = (): boolean => logger.isLevelEnabled('debug');
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error'), writesDebug };
}
