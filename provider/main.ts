#!/usr/bin/env node
// The entry point of terraform-provider-gantry: environment, standard streams, signals, exit codes. No logic.
import { readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { lazyMethods } from './wire/calls.ts';
import { logLine, type Log } from './wire/log.ts';
import { HandshakeError, startPlugin } from './wire/plugin.ts';
import { version } from '../server/api/version.ts';
import { guardOutput } from '../server/lib/shared/output-stream.ts';

/** At a higher rate of errors the plugin ends: it has no work left to protect. */
const maxUnexpectedErrors = 1000;

let isReaderGone = false;
const readerGone = new Set<() => void>();
/** Terraform reads both streams. After any other failure, such as a log file on a full disk, the plugin only stops using the stream. */
const lost = (loss: 'reader-gone' | 'failed'): void => {
  if (loss === 'failed') return;
  isReaderGone = true;
  for (const listener of readerGone) listener();
};
const stdout = guardOutput(process.stdout, lost);
const stderr = guardOutput(process.stderr, lost);

const log: Log = (level, message) => stderr.write(logLine(new Date(), level, message));

let unexpectedErrors = 0;
/** Up to ten operations run at once: an error outside them must not lose their results. */
function survive(error: unknown): void {
  unexpectedErrors += 1;
  if (unexpectedErrors > maxUnexpectedErrors) process.exit(1);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log('error', `an unexpected error, the plugin continues: ${text}`);
}

/** The schema from the package; this file is CommonJS only in a package. */
function schema(): Uint8Array | undefined {
  if (typeof __dirname === 'undefined') return undefined;
  try {
    return readFileSync(join(__dirname, 'schema.bin'));
  } catch {
    return undefined;
  }
}

/** The command for users: installs the provider where Terraform finds it. */
async function runInstall(args: readonly string[]): Promise<void> {
  const { install } = await import('./packaging/install.ts');
  const own = dirname(realpathSync(process.argv[1] ?? '.'));
  const packages = [own, join(own, '../provider-package')];
  const done = install({ args, packages, home: homedir(), os: process.platform, arch: process.arch });
  process.stdout.write(done.stdout);
  process.stderr.write(done.stderr);
  process.exitCode = done.code;
}

async function main(): Promise<void> {
  if (['--version', '-version', 'version'].includes(process.argv[2] ?? ''))
    return void process.stdout.write(`terraform-provider-gantry ${version}\n`);
  if (process.argv[2] === 'install') return runInstall(process.argv.slice(3));
  // Ctrl-C reaches the whole process group; Terraform sends StopProvider when operations must end.
  process.on('SIGINT', () => {});
  process.on('uncaughtException', survive);
  try {
    const plugin = await startPlugin({
      methods: lazyMethods(async () => (await import('./serving.ts')).gantryMethods({ env: process.env, log }), schema),
      env: process.env,
      log,
      print: (line) => stdout.write(line),
      // Exit at once: it closes connections faster than code could, and Terraform waits for it.
      close: () => Promise.resolve(),
      exit: (code) => process.exit(code),
      onReaderGone(listener) {
        readerGone.add(listener);
        if (isReaderGone) listener();
      },
      parentPid: () => process.ppid,
      now: () => new Date(),
    });
    process.on('SIGTERM', () => plugin.stop());
  } catch (error) {
    stderr.write(`${error instanceof HandshakeError ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

void main();
