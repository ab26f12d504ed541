// The rules of a tenant as one pure function, which checks documents before planning and steps before sending.
import type { KindName } from '../../../server/api/kinds.ts';
import { matchesHost } from '../../core/documents/host-pattern.ts';
import { starPattern } from '../../core/text/star-pattern.ts';
import { mapOf, textOf } from '../../core/documents/json-values.ts';
import { fits } from './fits.ts';
import { keyBreaches } from './key-breaches.ts';
import { restrictionBreaches } from './restriction-breaches.ts';
import type { Breach, NamedObject, Subject } from './subject.ts';
import type { Tenant } from './tenant.ts';

export function breachesOf(tenant: Tenant, subject: Subject): readonly Breach[] {
  return [
    ...identityBreaches(tenant, subject),
    ...subject.references.flatMap((one) => referenceBreach(tenant, subject, one)),
    ...sourceBreaches(tenant, subject),
    ...keyBreaches(tenant, subject),
    ...restrictionBreaches(tenant, subject),
    ...subject.tried.map((where): Breach => ({
      rule: 'waits',
      path: 'manage.wait',
      message: `a wait connects to ${where} from the controller: a tenant waits for ports of its own containers only, without a host`,
    })),
  ];
}

const listed = (words: readonly string[]): string => words.join(', ');

function identityBreaches(tenant: Tenant, { kind, name, project, host }: Subject): readonly Breach[] {
  const found: Breach[] = [];
  const wrong = (rule: Breach['rule'], message: string): void => void found.push({ rule, path: '', message });
  if (!tenant.hosts.some((pattern) => matchesHost(pattern, host)))
    wrong('hosts', `${host.name} is not one of its hosts`);
  if (!hasProject(tenant, project))
    wrong('projects', `the project ${project} is not one of ${listed(tenant.projects)}`);
  if (!tenant.kinds.includes(kind)) wrong('kinds', `the kind ${kind} is not one of ${listed(tenant.kinds)}`);
  if (!hasName(tenant, kind, name)) wrong('names', `the name ${name} fits none of ${listed(tenant.names)}`);
  return found;
}

const hasProject = ({ projects }: Tenant, name: string): boolean =>
  projects.some((pattern) => starPattern(pattern, '[^/@]*').test(name));

const hasName = ({ names }: Tenant, kind: KindName, name: string): boolean =>
  names.some((pattern) => fits(pattern, kind, kind === 'storage_volume' ? name.slice(name.indexOf('/') + 1) : name));

/** Allows the tenant's own objects, and others that gantry.yaml lists. */
function referenceBreach(tenant: Tenant, { ownImages }: Subject, { kind, name, path }: NamedObject): readonly Breach[] {
  if (kind === 'image' && ownImages.has(name)) return [];
  const isUsed = (of: KindName, what: string): boolean => tenant.uses.some((pattern) => fits(pattern, of, what));
  // A volume of that name in another pool belongs to others.
  const isInPool = kind !== 'storage_volume' || isUsed('storage_pool', name.slice(0, Math.max(0, name.indexOf('/'))));
  if ((tenant.kinds.includes(kind) && hasName(tenant, kind, name) && isInPool) || isUsed(kind, name)) return [];
  const uses = tenant.uses.length === 0 ? 'nothing is listed' : `listed are ${listed(tenant.uses)}`;
  return [{ rule: 'uses', path, message: `it names ${kind}/${name}, which belongs to others: ${uses}` }];
}

const sourceTypes: ReadonlySet<unknown> = new Set(['image', 'copy', 'none', 'url']);

function sourceBreaches(tenant: Tenant, { kind, values, project }: Subject): readonly Breach[] {
  if (values['source'] === undefined || values['source'] === null) return [];
  const source = mapOf(values['source']);
  const found: Breach[] = [];
  const wrong = (rule: Breach['rule'], member: string, message: string): void =>
    void found.push({ rule, path: `source.${member}`, message });
  if (!sourceTypes.has(source['type'])) wrong('images', 'type', 'the source must be image, copy, none or url');
  for (const member of ['server', 'url']) {
    const from = textOf(source[member]) ?? '';
    if (from !== '' && !tenant.images.some((allowed) => isFrom(from, allowed, member === 'url')))
      wrong(
        'images',
        member,
        `${from} is not one of its image servers${tenant.images.length === 0 ? '' : `: ${listed(tenant.images)}`}`,
      );
  }
  if (kind === 'container' && source['properties'] !== undefined)
    wrong('images', 'properties', 'properties may choose an image of others: name the image');
  const other = source['project'];
  if (other !== undefined && other !== project && !hasProject(tenant, textOf(other) ?? ''))
    wrong('projects', 'project', `the project ${textOf(other) ?? '?'} is not one of ${listed(tenant.projects)}`);
  return found;
}

/** `isBelow`: also accepts URLs below the allowed one, folder by folder. */
function isFrom(written: string, allowed: string, isBelow: boolean): boolean {
  const [from, base] = [urlOf(written), urlOf(allowed)];
  if (from === undefined || base === undefined) return written === allowed;
  const clean = (path: string): string => path.replace(/\/+$/, '');
  if (from.username !== '' || from.protocol !== base.protocol || from.host !== base.host) return false;
  const [path, root] = [clean(from.pathname), clean(base.pathname)];
  return path === root || (isBelow && path.startsWith(`${root}/`) && !/%2f|%5c|\\/i.test(written));
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
