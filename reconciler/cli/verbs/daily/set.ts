// `gantry set NAME KEY=VALUE...`: changes config keys of a live object, and says what the next apply of each set does with them.
import { isNote } from '../../../core/ownership/owner-records.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { parsePairs } from '../../flags/parse-values.ts';
import { withClient } from '../../session/connect.ts';
import type { Run } from '../../session/context.ts';
import { readLiveObject } from './live-object.ts';
import { nextApplyTexts } from './next-apply.ts';

/** A name alone is that of a container. */
const shownAs = (word: string): string => (word.includes('/') ? word : `container/${word}`);

export const setKeys: Run<HostOptions> = async (context, [word = '', ...pairs]) => {
  const { stop, cancel } = context;
  const bare = pairs.find((pair) => !pair.includes('='));
  if (bare !== undefined)
    throw usageError(
      `${JSON.stringify(bare)} is not KEY=VALUE: gantry set ${word} ${bare}=VALUE sets it, gantry set ${word} ${bare}= removes it, gantry show ${shownAs(word)} shows it`,
    );
  const changes = parsePairs('gantry set', pairs, 'KEY=VALUE');
  const note = Object.keys(changes).find(isNote);
  if (note !== undefined) throw usageError(`${note} is a record that gantry keeps itself: it cannot be set by hand`);
  return withClient(context, async (client) => {
    const { kind, name, address, live, records } = await readLiveObject(client, word, stop);
    if (live.config === undefined)
      throw commandError(`${address} has no config keys: gantry edit ${address} changes it`);
    await client.operations.run(() => client.patch(kind, name, { config: changes }, {}, stop), cancel);
    const sets = records.map(([set]) => set);
    const keys = Object.entries(changes).map(([key, value]) => `${key} ${value === '' ? 'unset' : 'set'}`);
    context.out(`${address}: ${keys.join(', ')}${sets.length === 0 ? ' (no set declares it)' : ''}`);
    context.jsonObjects({ kind, name, action: 'set', keys: Object.keys(changes), sets });
    const after = { ...live, config: { ...live.config, ...changes } };
    for (const text of nextApplyTexts(address, records, live, after)) context.note(text);
    return exitCodes.ok;
  });
};
