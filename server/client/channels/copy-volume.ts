// Copies a custom volume with its snapshots from one server to another.
import type { Operation } from '../../api/operation.ts';
import type { Client } from '../client.ts';
import { pathOf, volumesOf } from '../kind-paths.ts';
import { migrate, operationOf, type MigrationMode } from './two-servers.ts';

export interface VolumeAt {
  readonly client: Client;
  readonly pool: string;
  readonly name: string;
}

export interface VolumeCopyOptions {
  readonly mode?: MigrationMode;
  /** Replaces the source's description and config. */
  readonly description: string;
  readonly config: Readonly<Record<string, string>>;
}

/** Resolves when the copy is complete. On a throw or abort both operations are cancelled, and there is no copy. */
export const copyVolume = (
  from: VolumeAt,
  to: VolumeAt,
  options: VolumeCopyOptions,
  signal?: AbortSignal,
): Promise<void> => {
  const { mode, description, config } = options;
  const post = async (client: Client, path: string, json: object): Promise<Operation> =>
    operationOf(await client.http.send({ method: 'POST', path, json }, signal), path);
  const volume = { name: to.name, type: 'custom', content_type: 'filesystem', description, config };
  return migrate(
    {
      from: {
        client: from.client,
        start: (peer) =>
          post(from.client, pathOf('storage_volume', `${from.pool}/${from.name}`), {
            name: from.name,
            migration: true,
            ...peer,
          }),
      },
      to: {
        client: to.client,
        start: (way, peer) =>
          post(to.client, volumesOf(to.pool), { ...volume, source: { type: 'migration', mode: way, ...peer } }),
      },
      onUpdate: undefined,
      signal,
    },
    mode,
  );
};
