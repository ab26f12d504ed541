#!/usr/bin/env node
// The process edge of the CLI: hands the process over, takes the exit code back.
import { processIo } from './output/process-io.ts';
import { runCli } from './program/run.ts';

process.exitCode = await runCli(processIo());
// A shell waits for the names: what was abandoned, such as a look-up of a name, must not keep it waiting.
if (process.argv[2] === 'completion') process.exit();
