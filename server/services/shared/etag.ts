// ETags: SHA-256 over the user-modifiable content of an object, and the If-Match check against it (spec 4, store notes).
import type { ClusterGroup } from '../../api/cluster/member-groups.ts';
import type { Cluster, ClusterMember } from '../../api/cluster/cluster.ts';
import type { ContainerMetadata } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import type { Warning } from '../../api/server/warning.ts';
import { never } from '../../api/schema/common-schemas.ts';
import { canonicalHash } from '../../lib/canonical-json.ts';
import type {
  AliasDocument,
  CertificateDocument,
  ContainerDocument,
  ImageDocument,
  NetworkAclDocument,
  NetworkDocument,
  PoolDocument,
  ProfileDocument,
  ProjectDocument,
  SnapshotDocument,
  VolumeDocument,
  VolumeSnapshotDocument,
} from '../../records/documents.ts';
import { withoutServerKeys } from './expand.ts';

/** Documents are immutable, and so are their ETags; containers are read again and again. */
const ofContainers = new WeakMap<ContainerDocument, string>();

function containerEtag(c: ContainerDocument): string {
  const known = ofContainers.get(c);
  if (known !== undefined) return known;
  const content = [c.architecture, withoutServerKeys(c.config), c.description, c.devices, c.ephemeral, c.profiles];
  const etag = canonicalHash(content);
  ofContainers.set(c, etag);
  return etag;
}

/** What each kind's ETag is computed from; server-kept keys, states and derived members are left out. */
export const etagOf = {
  container: containerEtag,
  containerMetadata: (m: ContainerMetadata) => canonicalHash(m),
  snapshot: (s: SnapshotDocument) => canonicalHash([s.description, s.expiresAt]),
  profile: (p: ProfileDocument) => canonicalHash([p.config, p.description, p.devices]),
  network: (n: NetworkDocument) => canonicalHash([n.config, n.description]),
  networkAcl: (n: NetworkAclDocument) => canonicalHash([n.config, n.description, n.egress, n.ingress]),
  pool: (p: PoolDocument) => canonicalHash([p.config, p.description]),
  volume: (v: Pick<VolumeDocument, 'config' | 'description'>) =>
    canonicalHash([withoutServerKeys(v.config), v.description]),
  volumeSnapshot: (s: Pick<VolumeSnapshotDocument, 'config' | 'description' | 'expiresAt'>) =>
    canonicalHash([withoutServerKeys(s.config), s.description, s.expiresAt ?? never.expires]),
  image: (i: ImageDocument) => canonicalHash([i.public, i.autoUpdate, i.properties, i.expiresAt]),
  alias: (a: AliasDocument) => canonicalHash([a.description, a.target]),
  project: (p: ProjectDocument) => canonicalHash([p.config, p.description]),
  certificate: (c: CertificateDocument) =>
    canonicalHash([
      c.name,
      c.type,
      ...(c.projects === undefined ? [] : [c.projects]),
      ...(c.listed === undefined ? [] : ['listed', c.listed]),
    ]),
  cluster: (c: Cluster) => canonicalHash(c),
  memberGroup: (group: ClusterGroup) => canonicalHash([group.description, group.members]),
  member: (m: ClusterMember) => canonicalHash([m.config, m.description, m.failure_domain, m.groups]),
  warning: (warning: Pick<Warning, 'status'>) => canonicalHash([warning.status]),
  serverConfig: (config: Readonly<Record<string, string | boolean>>) => canonicalHash(config),
} as const;

/** Accepts bare, quoted and weak forms, lists and `*`; an absent or empty header is no condition. */
export function checkIfMatch(ifMatch: string | undefined, etag: string, kind: string, name: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '' || ifMatch.trim() === '*') return;
  const wanted = ifMatch.split(',').map((part) =>
    part
      .trim()
      .replace(/^W\//, '')
      .replace(/^"(.*)"$/, '$1'),
  );
  if (!wanted.includes(etag)) throw errors.preconditionFailed(kind, name);
}
