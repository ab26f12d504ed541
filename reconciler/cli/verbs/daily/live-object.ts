// Reads the one live object that a command line names, with the owner records of sets.
import type { KindName } from '../../../../server/api/kinds.ts';
import type { Client } from '../../../../server/client/client.ts';
import { addressParts } from '../../../core/documents/document.ts';
import type { OwnerRecord } from '../../../core/ownership/owner-records.ts';
import { parseContainerOrAddress } from '../../flags/parse-values.ts';
import { recordsOf } from './owners.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface LiveObject {
  readonly kind: KindName;
  readonly name: string;
  readonly address: string;
  readonly live: object & { readonly config?: Readonly<Record<string, string | boolean>> };
  readonly etag?: string;
  readonly records: readonly (readonly [set: string, OwnerRecord])[];
}

/** `web`, `container/web` or `profile/base`. */
export async function readLiveObject(client: Client, word: string, signal: AbortSignal): Promise<LiveObject> {
  const address = parseContainerOrAddress(word);
  const { kind, name } = addressParts(address);
  const { metadata: live, etag } = await client.get(kind, name, signal).catch(refuseMissing(kind, name));
  const { config } = (await client.server(signal)).metadata;
  const records = recordsOf(kind, name, live, config);
  return { kind, name, address, live, records, ...withoutUndefined({ etag }) };
}
