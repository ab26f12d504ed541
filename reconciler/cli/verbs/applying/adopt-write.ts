// Manifests for objects that are to be adopted and that none declares yet: written as export would, into a file of their own.
import { writeFile } from 'node:fs/promises';
import type { Address } from '../../../core/documents/document.ts';
import type { CliContext } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { observeWhole, type ReadClient } from '../../session/session.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError } from '../../errors/usage-error.ts';

export interface Undeclared {
  /** Made; it must not be there. */
  readonly path: string;
  /** undefined: everything on the server. */
  readonly wanted: ReadonlySet<Address> | undefined;
  readonly declared: ReadonlySet<Address>;
}

export async function writeUndeclared(
  context: CliContext,
  client: ReadClient,
  { path, wanted, declared }: Undeclared,
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
  const sayable = parts.filter(({ exported }) => exported.values !== undefined);
  const missing = [...(wanted ?? [])].filter(
    (address) => !declared.has(address) && !sayable.some(({ exported }) => exported.address === address),
  );
  if (missing.length > 0)
    throw new CliError(
      `${missing.join(', ')}: not on the server, or nothing that a manifest could say`,
      exitCodes.error,
    );
  const text = parts.map((part) => part.text).join('');
  await writeFile(path, text, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'it is there already' : error.message;
    throw new CliError(`cannot write ${path}: ${why}`, exitCodes.error, error);
  });
  context.note(`Wrote ${sayable.length} ${sayable.length === 1 ? 'document' : 'documents'} to ${path}`);
  for (const why of refused) context.note(`Warning: left out: ${why}`);
  if (secrets.length > 0) context.note(`Warning: ${path} holds secrets in clear: ${secrets.slice(0, 5).join(', ')}`);
}
