// The rows of spec part 4 written out by hand, so that the endpoint table is compared with the spec and not with itself.

/** T: trusted only; UT: any certificate; GUT: everyone. */
export type Auth = 'T' | 'UT' | 'GUT';

/** Method and path (names as in the spec, without their angle brackets), callers, mode. */
export type SpecRow = readonly [route: string, auth: Auth, mode: 'sync' | 'async' | 'raw' | 'websocket' | 'any'];

export const specRows: readonly SpecRow[] = [
  // 4.1
  ['GET /', 'GUT', 'sync'],
  ['GET /1.0', 'GUT', 'sync'],
  ['PUT /1.0', 'T', 'sync'],
  ['PATCH /1.0', 'T', 'sync'],
  ['GET /1.0/certificates', 'T', 'sync'],
  ['POST /1.0/certificates', 'UT', 'sync'],
  ['GET /1.0/certificates/FINGERPRINT', 'T', 'sync'],
  ['PUT /1.0/certificates/FINGERPRINT', 'T', 'sync'],
  ['PATCH /1.0/certificates/FINGERPRINT', 'T', 'sync'],
  ['DELETE /1.0/certificates/FINGERPRINT', 'T', 'sync'],
  // 4.2
  ['GET /1.0/containers', 'T', 'sync'],
  ['POST /1.0/containers', 'T', 'async'],
  ['GET /1.0/containers/NAME', 'T', 'sync'],
  ['PUT /1.0/containers/NAME', 'T', 'async'],
  ['PATCH /1.0/containers/NAME', 'T', 'sync'],
  ['POST /1.0/containers/NAME', 'T', 'async'],
  ['DELETE /1.0/containers/NAME', 'T', 'async'],
  // 4.3
  ['GET /1.0/containers/NAME/console', 'T', 'raw'],
  ['POST /1.0/containers/NAME/console', 'T', 'async'],
  ['DELETE /1.0/containers/NAME/console', 'T', 'sync'],
  // 4.4
  ['POST /1.0/containers/NAME/exec', 'T', 'async'],
  // 4.5: a directory is returned in an envelope, a file is not
  ['GET /1.0/containers/NAME/files', 'T', 'raw'],
  ['POST /1.0/containers/NAME/files', 'T', 'sync'],
  ['DELETE /1.0/containers/NAME/files', 'T', 'sync'],
  // 4.6; templates: a list in an envelope, or the content of one
  ['GET /1.0/containers/NAME/snapshots', 'T', 'sync'],
  ['POST /1.0/containers/NAME/snapshots', 'T', 'async'],
  ['GET /1.0/containers/NAME/snapshots/NAME', 'T', 'sync'],
  ['POST /1.0/containers/NAME/snapshots/NAME', 'T', 'async'],
  ['PUT /1.0/containers/NAME/snapshots/NAME', 'T', 'any'],
  ['DELETE /1.0/containers/NAME/snapshots/NAME', 'T', 'async'],
  ['GET /1.0/containers/NAME/state', 'T', 'sync'],
  ['PUT /1.0/containers/NAME/state', 'T', 'async'],
  ['GET /1.0/containers/NAME/logs', 'T', 'sync'],
  ['GET /1.0/containers/NAME/logs/LOGFILE', 'T', 'raw'],
  ['DELETE /1.0/containers/NAME/logs/LOGFILE', 'T', 'sync'],
  ['GET /1.0/containers/NAME/metadata', 'T', 'sync'],
  ['PUT /1.0/containers/NAME/metadata', 'T', 'sync'],
  ['GET /1.0/containers/NAME/metadata/templates', 'T', 'raw'],
  ['POST /1.0/containers/NAME/metadata/templates', 'T', 'sync'],
  ['PUT /1.0/containers/NAME/metadata/templates', 'T', 'sync'],
  // 4.7
  ['GET /1.0/events', 'T', 'websocket'],
  // 4.8; 2.9: public images can be downloaded by untrusted users
  ['GET /1.0/images', 'GUT', 'sync'],
  ['POST /1.0/images', 'T', 'async'],
  ['GET /1.0/images/FINGERPRINT', 'GUT', 'sync'],
  ['PUT /1.0/images/FINGERPRINT', 'T', 'sync'],
  ['DELETE /1.0/images/FINGERPRINT', 'T', 'async'],
  ['GET /1.0/images/FINGERPRINT/export', 'GUT', 'raw'],
  ['POST /1.0/images/FINGERPRINT/secret', 'T', 'async'],
  ['GET /1.0/images/aliases', 'T', 'sync'],
  ['POST /1.0/images/aliases', 'T', 'sync'],
  // Part 5 does not name it, but a guest who may fetch public images resolves their aliases first (as in the real system).
  ['GET /1.0/images/aliases/ALIAS', 'GUT', 'sync'],
  ['PUT /1.0/images/aliases/ALIAS', 'T', 'sync'],
  ['POST /1.0/images/aliases/ALIAS', 'T', 'sync'],
  ['DELETE /1.0/images/aliases/ALIAS', 'T', 'sync'],
  // 4.9
  ['GET /1.0/networks', 'T', 'sync'],
  ['GET /1.0/networks/NAME', 'T', 'sync'],
  ['PATCH /1.0/networks/NAME', 'T', 'sync'],
  ['POST /1.0/networks/NAME', 'T', 'sync'],
  ['DELETE /1.0/networks/NAME', 'T', 'sync'],
  ['POST /1.0/networks', 'T', 'any'],
  ['PUT /1.0/networks/NAME', 'T', 'any'],
  ['GET /1.0/networks/NAME/state', 'T', 'any'],
  ['GET /1.0/networks/NAME/leases', 'T', 'any'],
  // 4.10
  ['GET /1.0/operations', 'T', 'sync'],
  ['GET /1.0/operations/ID', 'T', 'sync'],
  ['DELETE /1.0/operations/ID', 'T', 'sync'],
  ['GET /1.0/operations/ID/wait', 'T', 'sync'],
  ['GET /1.0/operations/ID/websocket', 'GUT', 'websocket'],
  // 4.11
  ['GET /1.0/profiles', 'T', 'sync'],
  ['POST /1.0/profiles', 'T', 'sync'],
  ['GET /1.0/profiles/NAME', 'T', 'sync'],
  ['PUT /1.0/profiles/NAME', 'T', 'sync'],
  ['PATCH /1.0/profiles/NAME', 'T', 'sync'],
  ['POST /1.0/profiles/NAME', 'T', 'sync'],
  ['DELETE /1.0/profiles/NAME', 'T', 'sync'],
  // 4.12
  ['GET /1.0/storage-pools', 'T', 'sync'],
  ['POST /1.0/storage-pools', 'T', 'sync'],
  ['GET /1.0/storage-pools/POOL', 'T', 'sync'],
  ['PUT /1.0/storage-pools/POOL', 'T', 'sync'],
  ['PATCH /1.0/storage-pools/POOL', 'T', 'sync'],
  ['DELETE /1.0/storage-pools/POOL', 'T', 'sync'],
  ['GET /1.0/storage-pools/POOL/resources', 'T', 'sync'],
  ['GET /1.0/storage-pools/POOL/volumes', 'T', 'sync'],
  ['POST /1.0/storage-pools/POOL/volumes', 'T', 'sync'],
  ['POST /1.0/storage-pools/POOL/volumes/TYPE', 'T', 'sync'],
  ['GET /1.0/storage-pools/POOL/volumes/TYPE', 'T', 'sync'],
  ['GET /1.0/storage-pools/POOL/volumes/TYPE/NAME', 'T', 'sync'],
  ['POST /1.0/storage-pools/POOL/volumes/TYPE/NAME', 'T', 'sync'],
  ['PUT /1.0/storage-pools/POOL/volumes/TYPE/NAME', 'T', 'sync'],
  ['PATCH /1.0/storage-pools/POOL/volumes/TYPE/NAME', 'T', 'sync'],
  ['DELETE /1.0/storage-pools/POOL/volumes/TYPE/NAME', 'T', 'sync'],
  // 4.13
  ['GET /1.0/resources', 'GUT', 'sync'],
  ['GET /1.0/cluster', 'UT', 'sync'],
  ['PUT /1.0/cluster', 'T', 'any'],
  ['GET /1.0/cluster/members', 'T', 'sync'],
  ['GET /1.0/cluster/members/NAME', 'T', 'sync'],
  ['POST /1.0/cluster/members/NAME', 'T', 'sync'],
  ['DELETE /1.0/cluster/members/NAME', 'T', 'async'],
  // 4.14
  ['GET /1.0/containers/NAME/backups', 'T', 'any'],
  ['POST /1.0/containers/NAME/backups', 'T', 'any'],
  ['GET /1.0/containers/NAME/backups/NAME', 'T', 'any'],
  ['POST /1.0/containers/NAME/backups/NAME', 'T', 'any'],
  ['DELETE /1.0/containers/NAME/backups/NAME', 'T', 'any'],
  ['GET /1.0/containers/NAME/backups/NAME/export', 'T', 'any'],
];

/** Endpoints of the table beyond the rows of the spec, with shapes of the real system. All for trusted callers. */
export const furtherRoutes: readonly string[] = [
  'GET /1.0/metrics',
  'POST /1.0/cluster/members',
  'POST /internal/cluster/accept',
  'POST /internal/cluster/arrivals',
  'DELETE /1.0/containers/NAME/metadata/templates',
  'PATCH /1.0/images/FINGERPRINT',
  'POST /1.0/images/FINGERPRINT/refresh',
  'PATCH /1.0/images/aliases/ALIAS',
  'GET /1.0/storage-pools/POOL/volumes/TYPE/NAME/SNAPSHOT',
  'PUT /1.0/storage-pools/POOL/volumes/TYPE/NAME/SNAPSHOT',
  'PATCH /1.0/storage-pools/POOL/volumes/TYPE/NAME/SNAPSHOT',
  'GET /1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots',
  'POST /1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots',
  'GET /1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots/SNAPSHOT',
  'POST /1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots/SNAPSHOT',
  'PUT /1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots/SNAPSHOT',
  'DELETE /1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots/SNAPSHOT',
  'GET /1.0/projects',
  'POST /1.0/projects',
  'GET /1.0/projects/NAME',
  'GET /1.0/projects/NAME/state',
  'PUT /1.0/projects/NAME',
  'PATCH /1.0/projects/NAME',
  'POST /1.0/projects/NAME',
  'DELETE /1.0/projects/NAME',
];

/** The names of placeholders do not matter: only their places count. */
export const routeShape = (route: string): string => route.replaceAll(/\/(?::\w+|[A-Z]+|\*)(?=\/|$)/g, '/*');
