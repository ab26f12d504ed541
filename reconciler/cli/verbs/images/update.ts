// `gantry update`: pins followed image aliases and sources to their current fingerprints in gantry.lock, and commits the file if
// asked. The server resolves a source by fetching it; containers and aliases change at the next apply.
import type { Run, Output } from '../../session/context.ts';
import { findPins, followedBy } from '../../../engine/find-pins.ts';
import type { Pins } from '../../../manifest/image-pins.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { PinDifference } from './lock-repository.ts';
import type { UpdateOptions } from './image-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { lockFilePath, readPins, writePins } from '../../session/lock-file.ts';
import { loadSet } from '../../session/load-set.ts';
import { withClient } from '../../session/connect.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';

export const update: Run<UpdateOptions> = async (context, args) => {
  const { commit, branch, push } = context.options;
  const isCommitted = commit === true || branch !== undefined;
  if (push === true && !isCommitted) throw usageError('--push needs --commit or --branch NAME');
  const loaded = await loadSet(context, args);
  const followed = followedBy(loaded.documents);
  if (followed.aliases.size + followed.sources.size === 0) {
    context.out('Nothing to pin: no container follows an alias (manage.image), and no image has a source.');
    return exitCodes.ok;
  }
  const path = lockFilePath(context, loaded.files);
  const written = await readPins(context, loaded.files, true);
  // Checks everything that could refuse the commit before an image is fetched.
  const repository = isCommitted
    ? await (await import('./lock-repository.ts')).openLockRepository(context, path)
    : undefined;
  const before = repository?.before ?? written;
  const after = await withClient(context, async (client) => {
    const deps = {
      client,
      signal: context.stop,
      nowMs: context.io.nowMs,
      onProgress: (text: string) => context.note(text),
    };
    return findPins(deps, followed).catch((error: unknown) => {
      if (context.stop.aborted) throw error;
      throw commandError(reasonOf(error), error);
    });
  });
  if (branch === undefined && isDifferent(compare(written, after))) await writePins(path, after);
  const difference = compare(before, after);
  report(context, before, after, difference);
  if (!isDifferent(difference)) context.out(`${path} is up to date: ${after.size} images`);
  else if (repository !== undefined) context.out(await repository.commit({ before, after, ...difference }));
  return context.options.detailedExitcode === true && difference.changed.length > 0 ? exitCodes.changes : exitCodes.ok;
};

function compare(before: Pins, after: Pins): PinDifference {
  const changed = [...after.keys()].filter((key) => before.get(key) !== after.get(key)).sort();
  const dropped = [...before.keys()].filter((key) => !after.has(key));
  return { changed, dropped };
}

const isDifferent = ({ changed, dropped }: PinDifference): boolean => changed.length + dropped.length > 0;

function report(context: Output, before: Pins, after: Pins, { changed, dropped }: PinDifference): void {
  for (const key of changed) {
    const from = before.get(key);
    const old = from === undefined ? '' : `${from.slice(0, 12)} -> `;
    context.out(`${key}: ${old}${after.get(key)?.slice(0, 12) ?? ''}`);
  }
  for (const key of dropped) context.out(`${key}: no longer used`);
}
