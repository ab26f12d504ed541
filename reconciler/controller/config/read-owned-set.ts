// Reads a written or generated set, together with the rules of its tenant.
import type { Tenant } from '../tenancy/tenant.ts';
import type { SetConfig } from './config.ts';
import type { Report } from './report.ts';
import { approvalOf } from './read-approval.ts';
import { SetReader } from './read-set.ts';
import { tenantOf } from './read-tenants.ts';
import type { ControllerFile, WrittenSet } from './schema.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Reading {
  /** The place of the set in gantry.yaml. */
  readonly at: string;
  /** The folder of gantry.yaml. */
  readonly folder: string;
  readonly report: Report;
}

/** `tenants`: only those without a problem. */
export function readOwnedSet(
  file: ControllerFile,
  tenants: readonly (Tenant | undefined)[],
  set: WrittenSet,
  { at, folder, report }: Reading,
): SetConfig {
  const owner = tenantOf(file, set, at, report);
  const tenant = tenants.find((one) => one?.name === owner);
  const read = new SetReader(set, at, report, folder).read();
  if (tenant?.certificate !== undefined && read.project !== undefined)
    report(
      `${at}.project`,
      `cannot be ${read.project.name}: the certificate of the tenant ${tenant.name} reaches ${tenant.projects.join()} alone`,
      'leave it out, or give the set a tenant without a certificate',
    );
  const asked = approvalOf(
    read.approval,
    file.tenants?.find((one) => one.name === owner),
  );
  return { ...read, ...asked, ...withoutUndefined({ tenant }) };
}
