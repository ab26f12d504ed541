// Finds programs of the host, whatever PATH the daemon was started with.
import { programDirs, programIn } from '../../../lib/program-env.ts';

/** Absolute path of a host program, whatever the daemon's own PATH. */
export const findProgram = (name: string): string | undefined => programIn(programDirs, name);
