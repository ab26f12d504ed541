// The rows of spec part 4 written out by hand, so that the endpoint table is compared with the spec and not with itself.

/** T: trusted only; UT: any certificate; GUT: everyone. */
export type Auth = 'T' | 'UT' | 'GUT';

/** Method and path (names as in the spec, without their angle brackets), callers, mode. */
export type SpecRow = readonly [route: string, auth: Auth, mode: 'sync' | 'async' | 'raw' | 'websocket' | 'any'];

const rowsOfPaths: readonly (readonly [path: string, rows: string])[] = [
  // 4.1
  ['/', 'GET GUT sync'],
  ['/1.0', 'GET GUT sync, PUT T sync, PATCH T sync'],
  ['/1.0/certificates', 'GET T sync, POST UT sync'],
  ['/1.0/certificates/FINGERPRINT', 'GET T sync, PUT T sync, PATCH T sync, DELETE T sync'],
  // 4.2
  ['/1.0/containers', 'GET T sync, POST T async'],
  ['/1.0/containers/NAME', 'GET T sync, PUT T async, PATCH T sync, POST T async, DELETE T async'],
  // 4.3
  ['/1.0/containers/NAME/console', 'GET T raw, POST T async, DELETE T sync'],
  // 4.4
  ['/1.0/containers/NAME/exec', 'POST T async'],
  // 4.5: a directory is returned in an envelope, a file is not
  ['/1.0/containers/NAME/files', 'GET T raw, POST T sync, DELETE T sync'],
  // 4.6; templates: a list in an envelope, or the content of one
  ['/1.0/containers/NAME/snapshots', 'GET T sync, POST T async'],
  ['/1.0/containers/NAME/snapshots/NAME', 'GET T sync, POST T async, PUT T any, DELETE T async'],
  ['/1.0/containers/NAME/state', 'GET T sync, PUT T async'],
  ['/1.0/containers/NAME/logs', 'GET T sync'],
  ['/1.0/containers/NAME/logs/LOGFILE', 'GET T raw, DELETE T sync'],
  ['/1.0/containers/NAME/metadata', 'GET T sync, PUT T sync'],
  ['/1.0/containers/NAME/metadata/templates', 'GET T raw, POST T sync, PUT T sync'],
  // 4.7
  ['/1.0/events', 'GET T websocket'],
  // 4.8; 2.9: public images can be downloaded by untrusted users
  ['/1.0/images', 'GET GUT sync, POST T async'],
  ['/1.0/images/FINGERPRINT', 'GET GUT sync, PUT T sync, DELETE T async'],
  ['/1.0/images/FINGERPRINT/export', 'GET GUT raw'],
  ['/1.0/images/FINGERPRINT/secret', 'POST T async'],
  ['/1.0/images/aliases', 'GET T sync, POST T sync'],
  // Part 5 does not name it, but a guest who may fetch public images resolves their aliases first (as in the real system).
  ['/1.0/images/aliases/ALIAS', 'GET GUT sync, PUT T sync, POST T sync, DELETE T sync'],
  // 4.9
  ['/1.0/networks', 'GET T sync, POST T any'],
  ['/1.0/networks/NAME', 'GET T sync, PATCH T sync, POST T sync, DELETE T sync, PUT T any'],
  ['/1.0/networks/NAME/state', 'GET T any'],
  ['/1.0/networks/NAME/leases', 'GET T any'],
  // 4.10
  ['/1.0/operations', 'GET T sync'],
  ['/1.0/operations/ID', 'GET T sync, DELETE T sync'],
  ['/1.0/operations/ID/wait', 'GET T sync'],
  ['/1.0/operations/ID/websocket', 'GET GUT websocket'],
  // 4.11
  ['/1.0/profiles', 'GET T sync, POST T sync'],
  ['/1.0/profiles/NAME', 'GET T sync, PUT T sync, PATCH T sync, POST T sync, DELETE T sync'],
  // 4.12
  ['/1.0/storage-pools', 'GET T sync, POST T sync'],
  ['/1.0/storage-pools/POOL', 'GET T sync, PUT T sync, PATCH T sync, DELETE T sync'],
  ['/1.0/storage-pools/POOL/resources', 'GET T sync'],
  ['/1.0/storage-pools/POOL/volumes', 'GET T sync, POST T sync'],
  ['/1.0/storage-pools/POOL/volumes/TYPE', 'POST T sync, GET T sync'],
  ['/1.0/storage-pools/POOL/volumes/TYPE/NAME', 'GET T sync, POST T sync, PUT T sync, PATCH T sync, DELETE T sync'],
  // 4.13
  ['/1.0/resources', 'GET GUT sync'],
  ['/1.0/cluster', 'GET UT sync, PUT T any'],
  ['/1.0/cluster/members', 'GET T sync'],
  ['/1.0/cluster/members/NAME', 'GET T sync, POST T sync, DELETE T async'],
  // 4.14
  ['/1.0/containers/NAME/backups', 'GET T any, POST T any'],
  ['/1.0/containers/NAME/backups/NAME', 'GET T any, POST T any, DELETE T any'],
  ['/1.0/containers/NAME/backups/NAME/export', 'GET T any'],
];

export const specRows: readonly SpecRow[] = rowsOfPaths.flatMap(([path, rows]) =>
  rows.split(', ').map((row): SpecRow => {
    const [method, auth, mode] = row.split(' ') as [string, SpecRow[1], SpecRow[2]];
    return [`${method} ${path}`, auth, mode];
  }),
);

/** Endpoints of the table beyond the rows of the spec, with shapes of the real system. All for trusted callers. */
export const furtherRoutes: readonly string[] = (
  [
    ['/1.0/metrics', 'GET'],
    ['/1.0/recovery', 'POST'],
    ['/internal/gc', 'GET'],
    ['/1.0/cluster/members', 'POST'],
    ['/1.0/cluster/members/NAME', 'PUT PATCH'],
    ['/1.0/cluster/certificate', 'PUT'],
    ['/1.0/cluster/groups', 'GET POST'],
    ['/1.0/cluster/groups/NAME', 'GET PUT PATCH POST DELETE'],
    ['/internal/cluster/accept', 'POST'],
    ['/internal/cluster/keys', 'GET POST'],
    ['/internal/cluster/arrivals', 'POST'],
    ['/internal/cluster/departures', 'POST'],
    ['/internal/cluster/returns', 'POST'],
    ['/1.0/cluster/members/NAME/state', 'POST'],
    ['/1.0/containers/NAME/metadata', 'PATCH'],
    ['/1.0/containers/NAME/metadata/templates', 'DELETE'],
    ['/1.0/containers/NAME/snapshots/NAME', 'PATCH'],
    ['/1.0/images/FINGERPRINT', 'PATCH'],
    ['/1.0/images/FINGERPRINT/refresh', 'POST'],
    ['/1.0/images/aliases/ALIAS', 'PATCH'],
    ['/1.0/storage-pools/POOL/volumes/TYPE/NAME/SNAPSHOT', 'GET PUT PATCH POST'],
    ['/1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots', 'GET POST'],
    ['/1.0/storage-pools/POOL/volumes/TYPE/NAME/snapshots/SNAPSHOT', 'GET POST PUT PATCH DELETE'],
    ['/1.0/storage-pools/POOL/volumes/TYPE/NAME/backups', 'GET POST'],
    ['/1.0/storage-pools/POOL/volumes/TYPE/NAME/backups/BACKUP', 'GET POST DELETE'],
    ['/1.0/storage-pools/POOL/volumes/TYPE/NAME/backups/BACKUP/export', 'GET'],
    ['/1.0/projects', 'GET POST'],
    ['/1.0/projects/NAME', 'GET PUT PATCH POST DELETE'],
    ['/1.0/projects/NAME/state', 'GET'],
    ['/1.0/network-acls', 'GET POST'],
    ['/1.0/network-acls/NAME', 'GET PUT PATCH POST DELETE'],
    ['/1.0/warnings', 'GET'],
    ['/1.0/warnings/UUID', 'GET PUT PATCH DELETE'],
  ] as const
).flatMap(([path, methods]) => methods.split(' ').map((method) => `${method} ${path}`));

/** The names of placeholders do not matter: only their places count. */
export const routeShape = (route: string): string => route.replaceAll(/\/(?::\w+|[A-Z]+|\*)(?=\/|$)/g, '/*');
