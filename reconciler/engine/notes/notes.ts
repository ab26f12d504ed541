// Changes Gantry's notes about sets (`user.gantry.*`) under the ETag of their object: reads, decides, writes, and retries when someone
// else wrote first. An implementation for each place: server-notes.ts, project-notes.ts; set-notes.ts selects one.
import { isPreconditionFailed } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';

export type NotesClient = Pick<Client, 'server' | 'patchServer' | 'list' | 'get' | 'create' | 'put' | 'delete'>;
export type NotesConfig = Readonly<Record<string, unknown>>;
/** Empty text unsets a key. */
export type Patch = Readonly<Record<string, string>>;

export interface ReadNotes {
  readonly config: NotesConfig;
  readonly etag?: string;
}

export interface Notes {
  read(signal: AbortSignal): Promise<ReadNotes>;
  /** Throws OvertakenWriteError, or a ClientError of status 412, if the notes changed since `read`. */
  write(patch: Patch, read: ReadNotes, signal: AbortSignal): Promise<void>;
}

/** Someone else wrote the notes first: read them again. */
export class OvertakenWriteError extends Error {
  override readonly name = 'OvertakenWriteError';
}

export interface NotesDeps {
  readonly notes: Notes;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** All users of a server write to this one object, so many conflicts in a row are normal. */
const attempts = 30;

/** `decide` gets the live notes and returns the keys to change, or undefined for no change. It may throw. */
export async function changeNotes(
  { notes, pause }: NotesDeps,
  decide: (config: NotesConfig) => Patch | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const read = await notes.read(signal);
      const patch = decide(read.config);
      if (patch === undefined || Object.keys(patch).length === 0) return;
      await notes.write(patch, read, signal);
      return;
    } catch (error) {
      const isOvertaken = error instanceof OvertakenWriteError || isPreconditionFailed(error);
      if (attempt >= attempts || !isOvertaken) throw error;
      await pause(Math.ceil(Math.random() * 20 * Math.min(attempt, 10)), signal);
    }
  }
}
