// The endpoint table: every row of spec part 4, with caller classes, mode, bodies and whether this release serves it.
// Routing, validation, the authorisation tests and OpenAPI are derived from it.
import type { Endpoint } from './endpoint.ts';
import { serverEndpoints, certificateEndpoints } from './endpoints/server.ts';
import { containerEndpoints, snapshotEndpoints } from './endpoints/containers.ts';
import { imageEndpoints } from './endpoints/images.ts';
import { networkEndpoints, operationEndpoints, profileEndpoints } from './endpoints/networks.ts';
import { storageEndpoints } from './endpoints/storage.ts';
import { clusterEndpoints, projectEndpoints } from './endpoints/cluster.ts';

export const endpoints = [
  ...serverEndpoints,
  ...certificateEndpoints,
  ...containerEndpoints,
  ...snapshotEndpoints,
  ...imageEndpoints,
  ...networkEndpoints,
  ...operationEndpoints,
  ...profileEndpoints,
  ...storageEndpoints,
  ...clusterEndpoints,
  ...projectEndpoints,
] as const satisfies readonly Endpoint[];

export type EndpointId = (typeof endpoints)[number]['id'];
