// Action gantry_snapshot_restore: puts a container back to one of its snapshots.
import type { Snapshot } from '../../server/api/container/snapshot.ts';
import type { Link } from '../connection/link.ts';
import { text } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import type { Context } from '../framework/object-type.ts';
import { at } from '../framework/path.ts';
import { containerPath } from '../resources/container/holder.ts';
import { gantryAction } from '../resources/shared/common-attributes.ts';
import { readPath, segment } from '../resources/shared/read-by-path.ts';
import { perform } from '../resources/shared/write.ts';

export const snapshotRestore = gantryAction({
  typeName: 'gantry_snapshot_restore',
  doc: 'Puts the root file system and config of a container back to a snapshot. What was written since is lost. A container that runs is stopped for it and runs again afterwards.',
  timeoutMs: 60 * 60_000,
  attributes: {
    container: text({ doc: 'Name of the container.', required: true }),
    snapshot: text({ doc: 'Name of the snapshot.', required: true }),
  },
  async plan({ container, snapshot }, context) {
    // The same apply may create both.
    if (!container || !snapshot || (await readPath(context, containerPath(container))) === undefined) return;
    const found = await readSnapshot(context, container, snapshot);
    if (found !== undefined) return;
    const detail = 'Choose one that exists, or take it before.';
    const problem = failure(`The container ${container} has no snapshot ${snapshot} yet`, detail, at('snapshot'));
    context.warn({ ...problem, severity: 'warning' });
  },
  async invoke({ container, snapshot }, context) {
    if ((await readSnapshot(context, container, snapshot)) === undefined)
      throw new DiagnosticError([
        failure(
          `There is no snapshot ${snapshot} of a container ${container}`,
          'Choose one that exists.',
          at('snapshot'),
        ),
      ]);
    context.sendProgress(`Restoring ${container} to ${snapshot}`);
    const call = { method: 'PUT', path: containerPath(container), json: { restore: snapshot } } as const;
    await perform(context, () => context.client.client.http.send(call, context.signal));
  },
});

const readSnapshot = (context: Context<Link>, container: string, snapshot: string) =>
  readPath<Snapshot>(context, `${containerPath(container)}/snapshots/${segment(snapshot)}`);
