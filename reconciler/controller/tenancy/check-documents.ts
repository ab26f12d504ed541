// Checks the manifests of a set against the rules of its tenant before planning: each breach is an error with its place. Pure.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Document, JsonObject } from '../../core/documents/document.ts';
import type { HostFacts } from '../../core/documents/host-pattern.ts';
import { normalizeDocuments } from '../../core/graph/normalize.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { followedAlias } from '../../core/live/image-updates.ts';
import { plainName } from '../../core/text/scoped-name.ts';
import { breachesOf } from './breaches.ts';
import type { Breach, NamedObject, Subject } from './subject.ts';
import type { Tenant } from './tenant.ts';

export interface TenantHost extends HostFacts {
  readonly project?: string;
}

type Pins = ReadonlyMap<string, string>;

/** `pins`: gantry.lock, which the tenant also writes. */
export function tenantProblems(
  tenant: Tenant,
  host: TenantHost,
  documents: readonly Document[],
  pins: Pins,
): readonly Diagnostic[] {
  const images = ownImages(documents);
  return normalizeDocuments(documents).objects.flatMap((document) => {
    const { kind, name, project, manage } = document;
    const subject: Subject = {
      kind,
      name: plainName(name, project),
      project: projectOf(host, project),
      host,
      values: withoutEmptyProfiles(document.values),
      references: [...referencesOf(document), ...pinned(document, pins), ...needed(document, host)],
      tried: manage.wait.flatMap((one) => (one.type === 'tcp' && one.host !== undefined ? [one.host] : [])),
      ownImages: images,
    };
    return breachesOf(tenant, subject).map((breach) => diagnosticOf(tenant, document, breach));
  });
}

export const projectOf = ({ project: base }: TenantHost, own: string | undefined): string => own ?? base ?? 'default';

/** Fingerprints and names of the images that the set declares. */
export const ownImages = (documents: readonly Document[]): ReadonlySet<string> =>
  new Set(
    documents.flatMap((one) =>
      one.kind === 'image' ? [one.files?.fingerprint ?? one.fingerprint ?? one.name, one.name] : [],
    ),
  );

/** Servers read null profiles like an omitted list, as the profile default. */
export function withoutEmptyProfiles(values: JsonObject): JsonObject {
  if (values['profiles'] !== null) return values;
  const { profiles: _none, ...rest } = values;
  return rest;
}

const referencesOf = (document: Document): readonly NamedObject[] =>
  coreKind(document.kind).references({ ...document, values: withoutEmptyProfiles(document.values) });

/** Checks pins too: gantry.lock could pin an alias to any image of the server. */
function pinned(document: Document, pins: Pins): readonly NamedObject[] {
  const name = pins.get(followedAlias(document) ?? '');
  return name === undefined ? [] : [{ kind: 'image', name, path: 'source.alias' }];
}

const needed = ({ manage }: Document, host: TenantHost): readonly NamedObject[] =>
  manage.dependsOn.map((address) => {
    const at = address.indexOf('/');
    const name = plainName(address.slice(at + 1), host.project);
    return { kind: address.slice(0, at) as NamedObject['kind'], name, path: 'manage.depends_on' };
  });

/** An alias of an image has no separate document, so `location` is that of the image. */
const diagnosticOf = (
  tenant: Tenant,
  { address, location }: Document,
  { rule, path, message }: Breach,
): Diagnostic => ({
  ...location,
  severity: 'error',
  code: 'tenant',
  address,
  path,
  message: `the tenant ${tenant.name} may not deploy ${address} (${rule}): ${message}`,
  remedy: 'change the document, or ask the administrator of gantry.yaml',
});
