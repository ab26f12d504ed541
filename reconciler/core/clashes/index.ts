// Finds declarations that are impossible or exclude each other, which the server would only refuse in the middle of an apply.
import { isRoot } from '../../../server/api/devices/index.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { containerClashes } from './containers.ts';
import { declaredContainers, expectedContainers, type ExpectedContainer } from './expected-containers.ts';
import { overlappingSubnets } from './networks.ts';
import { refusedValues } from './refused-values.ts';
import { strayAddresses } from './static-addresses.ts';

/** Resources that two objects claim and only one can have. With an empty world: from the documents alone. */
export function clashes(objects: readonly Document[], observed: Observed): readonly Diagnostic[] {
  const containers = expectedContainers(objects, observed);
  return [
    ...overlappingSubnets(objects, observed),
    ...containerClashes(containers),
    ...strayAddresses(containers, objects, observed),
    ...refusedValues(objects, observed),
  ];
}

/** New containers without a root disk. */
export const rootlessContainers = (objects: readonly Document[], observed: Observed): readonly Diagnostic[] =>
  declaredContainers(
    objects.filter(({ kind, name }) => kind === 'profile' || (kind === 'container' && !observed.containers.has(name))),
    observed,
  ).flatMap(({ document, devices, isKnown }: ExpectedContainer) =>
    document === undefined || !isKnown || isCopy(document) || Object.values(devices).some(isRoot)
      ? []
      : [rootless(document)],
  );

/** A copy gets the root disk of its source. */
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
