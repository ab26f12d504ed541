#!/usr/bin/env node
// The process edge of terraform-provider-gantry: environment, standard streams, signals, exit codes. No logic.
import { ProviderServer } from './framework/server.ts';
import { gantryProvider } from './gantry.ts';
import { logLine, type Log } from './wire/log.ts';
import { HandshakeError, startPlugin } from './wire/plugin.ts';
import { providerMethods } from './wire/rpcs.ts';

const log: Log = (level, message, fields) => void process.stderr.write(logLine(new Date(), level, message, fields));

async function main(): Promise<void> {
  // Ctrl-C goes to the whole process group; Terraform says by StopProvider what it means for us.
  process.on('SIGINT', () => {});
  // Ten operations may be under way: an error that belongs to none of them must not lose what the others have done.
  process.on('uncaughtException', (error) =>
    log('error', `an error that nobody expected: ${error.stack ?? String(error)}`),
  );
  const server = new ProviderServer(gantryProvider({ env: process.env, log }));
  try {
    const plugin = await startPlugin({
      methods: providerMethods(server),
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
