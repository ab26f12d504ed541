// Writes manifests for undeclared objects that are to be adopted, as export does, into one file.
import type { Address } from '../../../core/documents/document.ts';
import type { Context } from '../../session/context.ts';
import type { AdoptOptions } from './applying-verbs.ts';
import { observeWhole, type ReadClient } from '../../session/plan.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { writeOutput } from '../../output/write-text.ts';
import { commandError } from '../../errors/usage-error.ts';

export interface AdoptionFile {
  /** File to create; it must not exist. */
  readonly path: string;
  /** Addresses; undefined means everything on the server. */
  readonly wanted: ReadonlySet<Address> | undefined;
  readonly declared: ReadonlySet<Address>;
}

export async function writeUndeclared(
  context: Context<AdoptOptions>,
  client: ReadClient,
  { path, wanted, declared }: AdoptionFile,
): Promise<void> {
  const [{ exportWorld }, { writeExport }] = await Promise.all([
    import('../../../core/adoption/export.ts'),
    import('../../../manifest/write-export.ts'),
  ]);
  const set = setNameOf(context.options, []);
  const objects = exportWorld(await observeWhole(context, client, set), { set }).filter(
    ({ address }) => wanted?.has(address) !== false && !declared.has(address),
  );
  const { parts, secrets, refused } = writeExport(objects, false);
  const declarable = parts.filter(({ exported }) => exported.values !== undefined);
  const missing = [...(wanted ?? [])].filter(
    (address) => !declared.has(address) && !declarable.some(({ exported }) => exported.address === address),
  );
  if (missing.length > 0)
    throw commandError(`${missing.join(', ')}: not found on the server, or not declarable in a manifest`);
  const text = parts.map((part) => part.text).join('');
  await writeOutput(path, text);
  context.note(`Wrote ${declarable.length} ${declarable.length === 1 ? 'document' : 'documents'} to ${path}`);
  for (const why of refused) context.note(`Warning: left out: ${why}`);
  if (secrets.length > 0)
    context.note(`Warning: ${path} holds secrets in plain text: ${secrets.slice(0, 5).join(', ')}`);
}
