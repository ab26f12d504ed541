// Notes in a profile of the client's project, for clients that may not write the server config. The first note creates the profile,
// removing the last one deletes it.
import { isTrue } from '../../../server/api/container/container-config.ts';
import { ClientError, isNotFound, withMessage } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';
import { notesDescription, notesProfile } from '../../core/kinds/notes-profile.ts';
import { isNote, withoutGoneSets } from '../../core/ownership/project-notes.ts';
import { OvertakenWriteError, type Notes, type Patch, type ReadNotes } from './notes.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type ProfileClient = Pick<Client, 'get' | 'create' | 'put' | 'delete'>;

/** Marks a profile that its last writer is about to delete, so that no run takes a lock in it. */
const leavingKey = 'user.gantry.leaving';
/** After this many reads the mark counts as left by a killed writer, and another writer deletes the profile. */
const maxLeavingReads = 15;

export class ProjectNotes implements Notes {
  readonly #client: ProfileClient;
  readonly #project: string;
  #isChecked = false;
  #leavingReads = 0;

  constructor(client: ProfileClient, project = 'default') {
    this.#client = client;
    this.#project = project;
  }

  async read(signal: AbortSignal): Promise<ReadNotes & { readonly object?: object }> {
    try {
      const { metadata, etag } = await this.#client.get('profile', notesProfile, signal);
      return { config: metadata.config, object: metadata, ...withoutUndefined({ etag }) };
    } catch (error) {
      if (isNotFound(error)) return { config: {} };
      throw error;
    }
  }

  async write(patch: Patch, read: ReadNotes & { readonly object?: object }, signal: AbortSignal): Promise<void> {
    await this.#check(signal);
    const config = withoutGoneSets(changed(read.config, patch));
    try {
      if (read.object === undefined) await this.#create(config, signal);
      else if (leavingKey in read.config) await this.#awaitDeletion(signal);
      else if (Object.keys(config).some(isNote)) await this.#put(config, read, signal);
      else await this.withdraw(read, signal);
    } catch (error) {
      if (error instanceof ClientError && error.status === 403) throw this.#refusal(error);
      throw error;
    }
  }

  /** Deletes the profile with all notes, unless it has changed since `read`. */
  async withdraw(read: ReadNotes, signal: AbortSignal): Promise<void> {
    await this.#put({ [leavingKey]: 'true' }, read, signal);
    await this.#delete(signal);
  }

  /** Undoes `withdraw`. */
  async restore(read: ReadNotes, signal: AbortSignal): Promise<void> {
    await this.#create(changed(read.config, {}), signal);
  }

  async #create(config: Config, signal: AbortSignal): Promise<void> {
    if (!Object.keys(config).some(isNote)) return;
    const body = { name: notesProfile, description: notesDescription, config, devices: {} };
    try {
      await this.#client.create('profile', body, {}, signal);
    } catch (error) {
      // Servers answer 400 or 409 if another client created it first.
      if ((await this.read(signal)).object !== undefined) throw new OvertakenWriteError(`${notesProfile} exists now`);
      throw error;
    }
  }

  async #put(config: Config, { etag }: ReadNotes, signal: AbortSignal): Promise<void> {
    const body = { description: notesDescription, config, devices: {} };
    await this.#client.put('profile', notesProfile, body, etag === undefined ? {} : { ifMatch: etag }, signal);
  }

  async #awaitDeletion(signal: AbortSignal): Promise<never> {
    this.#leavingReads += 1;
    if (this.#leavingReads >= maxLeavingReads) await this.#delete(signal);
    throw new OvertakenWriteError(`${notesProfile} is being deleted`);
  }

  async #delete(signal: AbortSignal): Promise<void> {
    await this.#client.delete('profile', notesProfile, signal).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  /** Refuses a project that shares the profiles of `default`, where notes of a team must not be. */
  async #check(signal: AbortSignal): Promise<void> {
    if (this.#isChecked || this.#project === 'default') return;
    const { config } = (await this.#client.get('project', this.#project, signal)).metadata;
    if (!isTrue(config['features.profiles'])) throw this.#refusal();
    this.#isChecked = true;
  }

  #refusal(cause?: ClientError): Error {
    const why = cause === undefined ? `the project ${this.#project} has no profiles of its own` : cause.message;
    const text =
      `the run cannot be recorded: this client may not write the config of the server, and not the profile ${notesProfile} of the project ` +
      `${this.#project}: ${why}; ask an administrator for a project with features.profiles: true, or to apply for you`;
    return cause === undefined ? new ClientError('forbidden', text, { status: 403 }) : withMessage(cause, text);
  }
}

type Config = Readonly<Record<string, string>>;

function changed(config: ReadNotes['config'], patch: Patch): Config {
  const all = Object.entries({ ...config, ...patch });
  return Object.fromEntries(
    all.filter((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== ''),
  );
}
