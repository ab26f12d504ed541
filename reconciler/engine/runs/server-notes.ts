// Changes Gantry's keys of the server config (`user.gantry.*`) under its ETag: reads, decides, writes, and retries after a 412.
import type { Server } from '../../../server/api/server/server.ts';
import { ClientError, isPreconditionFailed, withMessage } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';

export type NotesClient = Pick<Client, 'server' | 'patchServer'>;
export type ServerConfig = Readonly<Record<string, unknown>>;
export type Patch = Readonly<Record<string, string>>;

interface NotesDeps {
  readonly client: NotesClient;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** All users of a server write to this one object, so many conflicts in a row are normal. */
const attempts = 30;

/** `decide` gets the live config and returns the keys to change, empty text to unset a key, or undefined for no change. It may throw. */
export async function changeNotes(
  { client, pause }: NotesDeps,
  decide: (config: ServerConfig) => Patch | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { metadata, etag } = await client.server(signal);
    const patch = decide(configOf(metadata));
    if (patch === undefined || Object.keys(patch).length === 0) return;
    try {
      await client.patchServer({ config: patch }, etag === undefined ? {} : { ifMatch: etag }, signal);
      return;
    } catch (error) {
      if (error instanceof ClientError && error.status === 403)
        throw withMessage(
          error,
          `the run cannot be recorded in the config of the server: ${error.message}; apply with a client that is trusted for the whole server`,
        );
      if (attempt >= attempts || !isPreconditionFailed(error)) throw error;
      await pause(Math.ceil(Math.random() * 20 * Math.min(attempt, 10)), signal);
    }
  }
}

export const configOf = (server: Partial<Reply<Server>['metadata']>): ServerConfig => server.config ?? {};
