// Runs the command line of this process.
import type { ExitCode } from '../errors/exit-codes.ts';
import { processIo } from '../output/process-io.ts';
import { runCli } from './run.ts';

export const runProcess = (): Promise<ExitCode> => runCli(processIo());
