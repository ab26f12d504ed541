// Notes in the config of the server, for the sets of an administrator.
import type { Server } from '../../../server/api/server/server.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Notes, Patch, ReadNotes } from './notes.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type ServerReader = Pick<Client, 'server' | 'patchServer'>;

export class ServerNotes implements Notes {
  readonly #client: ServerReader;

  constructor(client: ServerReader) {
    this.#client = client;
  }

  /** `isHidden`: the server hides its config from this client. */
  async read(signal: AbortSignal): Promise<ReadNotes & { readonly isHidden: boolean }> {
    const { metadata, etag } = await this.#client.server(signal);
    const config: Server['config'] | null | undefined = metadata.config;
    return { config: config ?? {}, isHidden: (config ?? null) === null, ...withoutUndefined({ etag }) };
  }

  async write(patch: Patch, { etag }: ReadNotes, signal: AbortSignal): Promise<void> {
    await this.#client.patchServer({ config: patch }, etag === undefined ? {} : { ifMatch: etag }, signal);
  }
}
