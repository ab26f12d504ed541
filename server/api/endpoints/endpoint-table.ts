// The endpoint table: every row of spec part 4, with caller classes, mode, bodies and whether this release serves it.
// Routing, validation, the authorisation tests and OpenAPI are derived from it.
import type { Endpoint } from './endpoint.ts';
import { serverEndpoints, certificateEndpoints } from './server.ts';
import { containerEndpoints, snapshotEndpoints } from './containers.ts';
import { imageEndpoints } from './images.ts';
import { networkAclEndpoints, networkEndpoints, operationEndpoints, profileEndpoints } from './networks.ts';
import { storageEndpoints } from './storage.ts';
import { clusterEndpoints } from './cluster.ts';
import { projectEndpoints } from './projects.ts';
import { warningEndpoints } from './warnings.ts';

export const endpoints = [
  ...serverEndpoints,
  ...certificateEndpoints,
  ...containerEndpoints,
  ...snapshotEndpoints,
  ...imageEndpoints,
  ...networkEndpoints,
  ...networkAclEndpoints,
  ...operationEndpoints,
  ...profileEndpoints,
  ...storageEndpoints,
  ...clusterEndpoints,
  ...projectEndpoints,
  ...warningEndpoints,
] as const satisfies readonly Endpoint[];

export type EndpointId = (typeof endpoints)[number]['id'];
