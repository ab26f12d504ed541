// `gantry update`: pins followed image aliases and sources to their current fingerprints in gantry.lock. The server resolves a
// source by fetching it; containers and aliases change at the next apply.
import type { CliContext, Run } from '../../session/context.ts';
import { findPins, followedBy } from '../../../engine/find-pins.ts';
import type { Pins } from '../../../manifest/image-pins.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { UpdateOptions } from './image-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { lockFilePath, readPins, writePins } from '../../session/lock-file.ts';
import { loadSet } from '../../session/load-set.ts';
import { withClient } from '../../session/connect.ts';
import { CliError } from '../../errors/usage-error.ts';

export const update: Run<UpdateOptions> = async (context, args) => {
  const loaded = await loadSet(context, args);
  const followed = followedBy(loaded.documents);
  if (followed.aliases.size + followed.sources.size === 0) {
    context.out('Nothing to pin: no container follows an alias (manage.image), and no image has a source.');
    return exitCodes.ok;
  }
  const path = lockFilePath(context, loaded.files);
  const before = await readPins(context, loaded.files, true);
  const after = await withClient(context, async (client) => {
    const deps = {
      client,
      signal: context.stop,
      nowMs: context.io.nowMs,
      onProgress: (text: string) => context.note(text),
    };
    return findPins(deps, followed).catch((error: unknown) => {
      if (context.stop.aborted) throw error;
      throw new CliError(reasonOf(error), exitCodes.error, error);
    });
  });
  const changed = [...after.keys()].filter((key) => before.get(key) !== after.get(key)).sort();
  const dropped = [...before.keys()].filter((key) => !after.has(key));
  if (changed.length + dropped.length > 0) await writePins(path, after);
  report(context, before, after, changed, dropped);
  if (changed.length + dropped.length === 0) context.out(`${path} is up to date: ${after.size} images`);
  return context.options.detailedExitcode === true && changed.length > 0 ? exitCodes.changes : exitCodes.ok;
};

function report(
  context: CliContext,
  before: Pins,
  after: Pins,
  changed: readonly string[],
  dropped: readonly string[],
): void {
  for (const key of changed) {
    const from = before.get(key);
    const old = from === undefined ? '' : `${from.slice(0, 12)} -> `;
    context.out(`${key}: ${old}${after.get(key)?.slice(0, 12) ?? ''}`);
  }
  for (const key of dropped) context.out(`${key}: no longer used`);
}
