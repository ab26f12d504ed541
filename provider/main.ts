#!/usr/bin/env node
// The process edge of terraform-provider-gantry: environment, standard streams, signals, exit codes. No logic.
import { readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { lazyMethods } from './wire/calls.ts';
import { logLine, type Log } from './wire/log.ts';
import { HandshakeError, startPlugin } from './wire/plugin.ts';

const log: Log = (level, message, fields) => void process.stderr.write(logLine(new Date(), level, message, fields));

/** The package has it written down; only there this file is CommonJS. */
function schema(): Uint8Array | undefined {
  if (typeof __dirname === 'undefined') return undefined;
  try {
    return readFileSync(join(__dirname, 'schema.bin'));
  } catch {
    return undefined;
  }
}

/** For people, not for Terraform: puts the provider where that looks for it. */
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
  if (process.argv[2] === 'install') return runInstall(process.argv.slice(3));
  // Ctrl-C goes to the whole process group; Terraform says by StopProvider what it means for us.
  process.on('SIGINT', () => {});
  // Ten operations may be under way: an error that belongs to none of them must not lose what the others have done.
  process.on('uncaughtException', (error) =>
    log('error', `an error that nobody expected: ${error.stack ?? String(error)}`),
  );
  try {
    const plugin = await startPlugin({
      methods: lazyMethods(async () => (await import('./serving.ts')).gantryMethods({ env: process.env, log }), schema),
      env: process.env,
      log,
      print: (line) => void process.stdout.write(line),
      // The end of the process closes connections sooner than we could, and Terraform waits for it.
      close: () => Promise.resolve(),
      exit: (code) => process.exit(code),
      parentPid: () => process.ppid,
      now: () => new Date(),
    });
    process.on('SIGTERM', () => plugin.stop());
  } catch (error) {
    process.stderr.write(`${error instanceof HandshakeError ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

void main();
