// Networks as drivers need them, with the ACLs that their config names; and, reversed, the networks that use an ACL.
import { splitList } from '../../api/network/network-values.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { errors } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import type { NetworkSpec } from '../../drivers/network/driver.ts';
import type { Changes, Records } from '../../records/records.ts';

type AclRecords = Pick<Records, 'networkAcls'>;

export const aclsOf = (config: ConfigMap): readonly string[] => splitList(config['security.acls']);

export function missingAcls({ networkAcls }: AclRecords, config: ConfigMap): readonly Problem[] {
  return aclsOf(config)
    .filter((acl) => !networkAcls.has(acl))
    .map((acl) => ({ path: 'config.security.acls', message: `there is no network ACL ${acl}: create it first` }));
}

/** Throws AppError badRequest if an ACL is missing: without its rules the network would pass what they deny. */
export function networkSpec(records: AclRecords, name: string, config: ConfigMap): NetworkSpec {
  const missing = missingAcls(records, config);
  if (missing.length > 0) throw errors.invalid(`network ${name}`, missing);
  const acls = aclsOf(config).map((acl) => {
    const { ingress = [], egress = [] } = records.networkAcls.get(acl)?.document ?? {};
    return { name: acl, ingress, egress };
  });
  return { name, config, acls };
}

/** The transaction succeeds only while the network's ACLs exist. */
export function requireAcls(changes: Changes, config: ConfigMap): void {
  for (const acl of aclsOf(config)) changes.require('networkAcls', acl);
}

/** Names of the networks that use the ACL, on any member of a cluster. */
export function aclUsers(records: Records, acl: string): readonly string[] {
  const all = [
    ...records.networks.list(),
    ...records.others.list('networks'),
    ...records.networkDefinitions.list().filter(({ document }) => document.state !== 'deleted'),
  ];
  const users = all.filter(({ document }) => aclsOf(document.config).includes(acl)).map(({ name }) => name);
  return [...new Set(users)].toSorted();
}
