// Selects the place for the notes of a set, once: their existing place, else the server config, else (if this client may not write
// that) a profile of the connection's project.
import { ClientError } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';
import { hasNotesOf, hasRecordsOf, isNoted, joinedNotes } from '../../core/ownership/project-notes.ts';
import {
  OvertakenWriteError,
  type Notes,
  type NotesClient,
  type NotesConfig,
  type Patch,
  type ReadNotes,
} from './notes.ts';
import { ProjectNotes } from './project-notes.ts';
import { ServerNotes } from './server-notes.ts';

export class SetNotes implements Notes {
  readonly #set: string;
  readonly #server: ServerNotes;
  readonly #profile: ProjectNotes;
  #place: Notes | undefined;

  /** `project`: that of the connection. */
  constructor(client: NotesClient, set: string, project?: string) {
    this.#set = set;
    this.#server = new ServerNotes(client);
    this.#profile = new ProjectNotes(client, project);
  }

  async read(signal: AbortSignal): Promise<ReadNotes> {
    if (this.#place !== undefined) return this.#place.read(signal);
    const server = await this.#server.read(signal);
    if (hasNotesOf(server.config, this.#set)) {
      this.#place = this.#server;
      return server;
    }
    const profile = await this.#profile.read(signal);
    if (!server.isHidden && !hasRecordsOf(profile.config, this.#set)) return server;
    this.#place = this.#profile;
    return profile;
  }

  async write(patch: Patch, read: ReadNotes, signal: AbortSignal): Promise<void> {
    if (this.#place !== undefined) return this.#place.write(patch, read, signal);
    try {
      await this.#server.write(patch, read, signal);
      this.#place = this.#server;
    } catch (error) {
      if (!(error instanceof ClientError) || error.status !== 403) throw error;
      this.#place = this.#profile;
      throw new OvertakenWriteError('this client may not write the config of the server');
    }
  }
}

export interface AllNotes {
  readonly config: NotesConfig;
  /** The notes of the set are in the profile of the project. */
  readonly isInProfile: (set: string) => boolean;
}

/** The notes of all sets that a connection in the project finds. */
export async function readNotes(
  client: Pick<Client, 'server' | 'get'>,
  project: string | undefined,
  signal: AbortSignal,
): Promise<AllNotes> {
  const reader = client as NotesClient;
  const [server, profile] = await Promise.all([
    new ServerNotes(reader).read(signal),
    new ProjectNotes(reader, project).read(signal),
  ]);
  const config = joinedNotes(server.config, profile.config, project);
  return { config, isInProfile: (set) => isNoted(config, set) && !isNoted(server.config, set) };
}
