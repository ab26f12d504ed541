#!/usr/bin/env node
// The process edge of gantryd: flags, signals, exit codes, where log lines go. No logic of its own.
import { runDaemonCommand } from './daemon-command.ts';

process.exitCode = await runDaemonCommand(process.argv.slice(2));
