// `gantry update`: writes down in gantry.lock to which images the followed aliases point by now; containers change at the next apply.
import { isNotFound } from '../../../server/client/client-error.ts';
import { followedAlias } from '../../core/image-roll.ts';
import { normalizeDocuments } from '../../core/normalize.ts';
import type { Client } from '../../../server/client/client.ts';
import type { CliContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { lockFilePath, readPins, writePins } from '../lock-file.ts';
import { loadSet, withClient } from '../session.ts';
import { CliError } from '../usage-error.ts';

export async function update(context: CliContext, args: readonly string[]): Promise<ExitCode> {
  const loaded = await loadSet(context, args);
  const { objects } = normalizeDocuments(loaded.documents);
  const aliases = [...new Set(objects.flatMap((document) => followedAlias(document) ?? []))].sort();
  if (aliases.length === 0) {
    context.out('No container follows an alias: manage.image is none everywhere.');
    return exitCodes.ok;
  }
  const declared = new Map(
    objects.flatMap(({ kind, name, values }) =>
      kind === 'image_alias' && typeof values['target'] === 'string' ? [[name, values['target']] as const] : [],
    ),
  );
  const path = lockFilePath(context, loaded.files);
  const before = await readPins({ ...context, options: { ...context.options } }, loaded.files).catch(
    (error: unknown) => {
      // A file that was named is made, too.
      if (context.options.lockFile !== undefined && error instanceof CliError && /ENOENT/.test(error.message))
        return new Map();
      throw error;
    },
  );
  const after = new Map<string, string>();
  await withClient(context, async (client) => {
    for (const alias of aliases) after.set(alias, declared.get(alias) ?? (await resolve(client, alias, context.stop)));
  });
  const changed = aliases.filter((alias) => before.get(alias) !== after.get(alias));
  const dropped = [...before.keys()].filter((alias) => !after.has(alias));
  if (changed.length + dropped.length > 0) await writePins(path, after);
  for (const alias of changed) {
    const from = before.get(alias);
    context.out(
      `${alias}: ${from === undefined ? '' : `${from.slice(0, 12)} -> `}${after.get(alias)?.slice(0, 12) ?? ''}`,
    );
  }
  for (const alias of dropped) context.out(`${alias}: no container follows it any more`);
  if (changed.length + dropped.length === 0) context.out(`${path} is up to date: ${aliases.length} images`);
  return context.options.detailedExitcode === true && changed.length > 0 ? exitCodes.changes : exitCodes.ok;
}

async function resolve(client: Client, alias: string, signal: AbortSignal): Promise<string> {
  try {
    return (await client.get('image_alias', alias, signal)).metadata.target;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const remedy = 'declare it, or make it on the server; aliases of other servers are not followed';
    throw new CliError(`the image alias ${alias} is neither declared nor on the server: ${remedy}`, exitCodes.error);
  }
}
