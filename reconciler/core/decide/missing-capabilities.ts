// Reports settings that this server cannot serve, with the missing API extension, before planning. Pure.
import { lackOfExtension, unservedExtension } from '../../../server/api/server/capability.ts';
import { kindRow } from '../../../server/api/kinds.ts';
import { incapable } from '../settings/capability-messages.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { pathText, snapshotsIn } from '../documents/inside.ts';
import { memberProblems } from '../settings/cluster-members.ts';
import type { Observed } from '../documents/observed.ts';
import { scopesOf } from '../live/project-scope.ts';

export function capabilityProblems(objects: readonly Document[], observed: Observed): readonly Diagnostic[] {
  const scopes = scopesOf(observed, objects);
  const lackOf = (extension: string): string | undefined =>
    observed.server.unserved?.includes(extension) === true
      ? unservedExtension(extension)
      : lackOfExtension(observed.server.extensions, extension);
  return objects.flatMap((object): readonly Diagnostic[] => {
    const { since, label } = kindRow(object.kind);
    const lack = since === undefined ? undefined : lackOf(since);
    if (lack !== undefined) return [incapable(object, '', `have a ${label}`, lack)];
    const ofOwn = [...memberProblems(object, observed), ...snapshotProblems(object, observed)];
    const { project } = object;
    if (project === undefined || ofOwn.length > 0) return ofOwn;
    const isKnown = lackOf('projects');
    if (isKnown !== undefined) return [incapable(object, 'project', 'keep it in a project', isKnown)];
    return scopes.hasOwn(object.kind, project) ? [] : [shared(object, project)];
  });
}

function snapshotProblems(object: Document, { server }: Observed): readonly Diagnostic[] {
  if (server.lacksSnapshotDescriptions !== true || object.kind !== 'container') return [];
  return snapshotsIn(object.values)
    .filter(([, { description }]) => description !== undefined)
    .map(([name]) =>
      incapable(
        object,
        pathText(['snapshots', name, 'description']),
        'keep a description of a snapshot',
        'LXD has none',
      ),
    );
}

const shared = (object: Document, project: string): Diagnostic => ({
  severity: 'error',
  code: 'not-in-project',
  address: object.address,
  path: 'project',
  message: `${object.address}: the project ${project} has no object of kind ${object.kind} of its own, it shares those of the project default`,
  remedy: 'take project out, or give the project that feature',
  ...object.location,
});
