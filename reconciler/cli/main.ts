#!/usr/bin/env node
// The process edge of the CLI: hands the process over, takes the exit code back.
import type * as commandLine from './program/run-process.ts';
import { cachedProgram } from '../../server/lib/shared/code-cache/cached-program.ts';

const { runProcess } =
  cachedProgram<typeof commandLine>('gantry', import.meta.url) ?? (await import('./program/run-process.ts'));
process.exitCode = await runProcess();
// A shell waits for the names: what was abandoned, such as a look-up of a name, must not keep it waiting.
if (process.argv[2] === 'completion') process.exit();
