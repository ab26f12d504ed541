// What documents ask for that cannot be, or cannot all be, and that the server would refuse or break on only in the middle of an apply.
import { isRoot } from '../../../server/api/devices/index.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { containerClashes } from './containers.ts';
import { declaredContainers, expectedContainers, type Expected } from './expected-containers.ts';
import { overlappingSubnets } from './networks.ts';

/** Things that two objects want and one can have. Of an empty world: as far as the documents alone say. */
export const clashes = (objects: readonly Document[], observed: Observed): readonly Diagnostic[] => [
  ...overlappingSubnets(objects, observed),
  ...containerClashes(expectedContainers(objects, observed)),
];

/** New containers without a place for their root file system. */
export const rootlessContainers = (objects: readonly Document[], observed: Observed): readonly Diagnostic[] =>
  declaredContainers(
    objects.filter(({ kind, name }) => kind === 'profile' || (kind === 'container' && !observed.containers.has(name))),
    observed,
  ).flatMap(({ document, devices, isKnown }: Expected) =>
    document === undefined || !isKnown || isCopy(document) || Object.values(devices).some(isRoot)
      ? []
      : [rootless(document)],
  );

/** A copy has the root disk of what it is copied from. */
const isCopy = ({ values }: Document): boolean => mapOf(values['source'])['type'] === 'copy';

const rootless = (document: Document): Diagnostic => ({
  severity: 'error',
  code: 'no-root-disk',
  address: document.address,
  path: 'devices',
  message: `${document.address} has no root disk: neither its devices nor its profiles have a disk with path /`,
  remedy: 'give it or one of its profiles a device, such as root: {type: disk, path: /, pool: default}',
  ...document.location,
});
