#!/usr/bin/env node
// The process edge of the CLI: hands the process over, takes the exit code back.
import { processIo } from './output/process-io.ts';
import { runCli } from './program/run.ts';

process.exitCode = await runCli(processIo());
