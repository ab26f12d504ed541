#!/usr/bin/env node
// The process edge of gantryd: flags, signals, exit codes, where log lines go. No logic of its own.
import type * as daemonCommand from './daemon-command.ts';
import { cachedProgram } from '../lib/shared/code-cache/cached-program.ts';

const { runDaemonCommand } =
  cachedProgram<typeof daemonCommand>('gantryd', import.meta.url) ?? (await import('./daemon-command.ts'));
process.exitCode = await runDaemonCommand(process.argv.slice(2));
