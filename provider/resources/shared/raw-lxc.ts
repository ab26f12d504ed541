// Finds lines of raw.lxc at the plan that a gantryd would refuse at the apply. Pure.
import { rawLxcProblems } from '../../../server/api/container/raw-lxc.ts';
import { isGantry, type Link } from '../../connection/link.ts';
import type { TextMap } from '../../framework/attribute.ts';
import { failure, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import { isMap, type Value } from '../../framework/value.ts';

/** `config`: the planned one. `client`: undefined while the server is unknown. Skips LXD, which has other rules. */
export function rawLxcFailures(config: Value, prior: TextMap | null, client: Link | undefined): readonly Diagnostic[] {
  const text = isMap(config) ? config['raw.lxc'] : undefined;
  if (client === undefined || !isGantry(client) || typeof text !== 'string') return [];
  const key = at('config', { key: 'raw.lxc' });
  return rawLxcProblems({ 'raw.lxc': text }, prior ?? {}).map(({ message }) =>
    failure('The server would refuse raw.lxc', `${message}.`, key),
  );
}
