// Reads the tenants of gantry.yaml, and finds the tenant of each set. Reports contradictions.
import { posix, resolve } from 'node:path';
import { projectConfigProblems } from '../../../server/api/project/project-config.ts';
import { hint } from '../../../server/api/text/nearest-word.ts';
import { parseHostPattern } from '../../core/documents/host-pattern.ts';
import { readApproval } from './read-approval.ts';
import type { Report } from './report.ts';
import type { ControllerFile, WrittenSet } from './schema.ts';
import { namesKind } from '../tenancy/fits.ts';
import { restrictionKey } from '../tenancy/restriction-breaches.ts';
import type { Tenant, WrittenTenant } from '../tenancy/tenant.ts';

const ruleNames = [
  'hosts',
  'kinds',
  'names',
  'projects',
  'certificate',
  'uses',
  'images',
  'keys',
  'restrictions',
] as const;

/** Undefined: the tenant is trusted. `folder`: the folder of gantry.yaml. */
export function readTenant(written: WrittenTenant, at: string, folder: string, report: Report): Tenant | undefined {
  if (written.approval !== undefined) readApproval(written.approval, `${at}.approval`, report);
  if (written.trusted === true) {
    const barred = ruleNames.filter((key) => written[key] !== undefined);
    if (barred.length > 0) report(at, `is trusted and has ${barred.join(', ')}`, 'take trusted or these rules out');
    return undefined;
  }
  for (const key of ['hosts', 'kinds', 'names'] as const)
    if (written[key] === undefined) report(`${at}.${key}`, 'is required');
  const {
    name,
    kinds = [],
    names = [],
    projects = ['default'],
    uses = [],
    images = [],
    keys = {},
    restrictions = {},
    certificate,
  } = written;
  for (const [index, pattern] of uses.entries())
    if (!namesKind(pattern)) report(`${at}.uses.${index}`, `must be KIND/NAME, is ${JSON.stringify(pattern)}`);
  for (const key of Object.keys(restrictions))
    if (!restrictionKey.test(key))
      report(
        `${at}.restrictions.${key}`,
        'means nothing here: keys are restricted.containers.*, restricted.devices.*, restricted.idmap.* and restricted.networks.*',
      );
  for (const { path, message } of projectConfigProblems(restrictions))
    report(`${at}.restrictions.${path.slice('config.'.length)}`, message);
  const hosts = (written.hosts ?? []).flatMap((text, index) => {
    const pattern = parseHostPattern(text);
    if (typeof pattern !== 'string') return [pattern];
    report(`${at}.hosts.${index}`, pattern);
    return [];
  });
  if (certificate !== undefined && (projects.length !== 1 || projects[0]?.includes('*') === true))
    report(`${at}.certificate`, 'is for one project', 'name it, without stars, as the only one of `projects`');
  const files =
    certificate === undefined
      ? {}
      : { certificate: { cert: resolve(folder, certificate.cert), key: resolve(folder, certificate.key) } };
  return { name, hosts, kinds, names, projects, uses, images, keys, restrictions, ...files };
}

/** The tenant of a set; undefined if gantry.yaml has no tenants or the set names none. */
export function tenantOf(file: ControllerFile, { name, source, path }: WrittenSet, at: string, report: Report) {
  const { tenants = [] } = file;
  if (tenants.length === 0) return undefined;
  const found = tenants.filter(({ sources }) => sources.some((one) => isOf(one, source, path)));
  const [only] = found;
  if (found.length === 1) return only?.name;
  const names = found.map((one) => one.name).join(', ');
  if (found.length === 0)
    report(
      at,
      `has no tenant: none of ${tenants.map((one) => one.name).join(', ')} may deploy ${source} ${path ?? ''}`.trimEnd(),
      `add the source and its path to the tenant of the set ${name}`,
    );
  else report(at, `has several tenants: ${names}`, 'let their sources differ in name or path');
  return undefined;
}

const clean = (path = '.'): string => posix.normalize(path).replace(/\/$/, '');

function isOf(
  one: { readonly name: string; readonly path?: string },
  source: string,
  path: string | undefined,
): boolean {
  const root = clean(one.path);
  const own = clean(path);
  return one.name === source && (root === '.' || own === root || own.startsWith(`${root}/`));
}

/** Sources exist, and verify signatures where a tenant asks for them. */
export function checkTenantSources({ tenants = [], sources }: ControllerFile, report: Report): void {
  const known = sources.map(({ name }) => name);
  for (const [index, tenant] of tenants.entries()) {
    const at = `tenants.${index}`;
    if (tenants.findIndex(({ name }) => name === tenant.name) !== index)
      report(`${at}.name`, `the name ${tenant.name} is used twice`);
    for (const [place, { name, signed }] of tenant.sources.entries()) {
      const source = sources.find((one) => one.name === name);
      if (source === undefined) report(`${at}.sources.${place}.name`, `there is no source ${name}${hint(name, known)}`);
      else if (signed === true && source.git?.verify === undefined && source.oci?.verify === undefined)
        report(
          `${at}.sources.${place}.signed`,
          `the source ${name} verifies no signatures`,
          'give it git.verify or oci.verify with the keys',
        );
    }
  }
}
