// Checks containers and profiles of a tenant against the rules of restricted projects, which servers use too. Pure.
import { emptyContents } from '../../../server/api/project/project-contents.ts';
import { restrictionProblems } from '../../../server/api/project/project-restrictions.ts';
import { presentDevices, presentTexts } from '../../core/documents/json-values.ts';
import type { Breach, Subject } from './subject.ts';
import type { Tenant } from './tenant.ts';

/** Keys that apply to documents; the others apply to requests to a server. */
export const restrictionKey = /^restricted\.(?:containers|devices|idmap|networks\.(?:access|spoofing))/;

export function restrictionBreaches({ name, restrictions }: Tenant, subject: Subject): readonly Breach[] {
  const { kind, values } = subject;
  if (kind !== 'container' && kind !== 'profile') return [];
  const config = { ...restrictions, restricted: 'true', 'features.storage.volumes': 'true' };
  const member = {
    name: subject.name,
    config: presentTexts(values['config']),
    devices: presentDevices(values['devices']),
  };
  const contents = { ...emptyContents(`of the tenant ${name}`, config), [`${kind}s`]: [member] };
  // Only the host can resolve links in its paths; a restricted project there does.
  return restrictionProblems(contents, () => undefined).map(({ path, message }): Breach => ({
    rule: 'restrictions',
    path,
    message: `${path} ${message}`,
  }));
}
