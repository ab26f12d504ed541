// Names across projects: a plan calls an object outside the connection's project `NAME@PROJECT`. A plain name in a document means an
// object of the document's project, or of `default` when the project shares that kind. Pure.
import { isInProject, kindRow, type KindName } from '../../../server/api/kinds.ts';
import { isTrue } from '../../../server/api/container/container-config.ts';
import { findProjectConfigKey } from '../../../server/api/project/project-config.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { coreKind } from '../kinds/index.ts';
import type { Reference } from '../kinds/kind.ts';
import { asText, mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { scopedName } from '../text/scoped-name.ts';

export interface Scopes {
  /** The plan name of the object that `project` calls `name`; `project` undefined: the connection's. */
  readonly keyOf: (kind: KindName, name: string, project: string | undefined) => string;
  /** True when the project has its own objects of the kind. */
  readonly hasOwn: (kind: KindName, project: string) => boolean;
}

/** `declared`: documents; those of projects declare the features after the plan. */
export function scopesOf(
  observed: Pick<Observed, 'projects' | 'base'> | undefined,
  declared: readonly Document[] = [],
): Scopes {
  const base = baseOf(observed);
  const configs = new Map<string, JsonObject>();
  for (const [name, { object }] of observed?.projects ?? []) configs.set(name, object.config);
  for (const { kind, name, values } of declared)
    if (kind === 'project') configs.set(name, { ...configs.get(name), ...mapOf(values['config']) });
  const hasOwn = (kind: KindName, project: string): boolean => {
    const feature = kindRow(kind).projectFeature;
    if (feature === undefined || project === 'default') return feature !== undefined;
    if (feature === '') return true;
    const written = asText(configs.get(project)?.[feature]);
    // A live project lists all of its features; the server fills in the features of a new one.
    const otherwise = observed?.projects.has(project) === true ? 'false' : findProjectConfigKey(feature)?.default;
    return isTrue(written === '' ? otherwise : written);
  };
  const keyOf = (kind: KindName, name: string, project: string | undefined): string => {
    if (project === undefined || project === base || !isInProject(kind)) return name;
    const home = hasOwn(kind, project) ? project : 'default';
    return home === base ? name : scopedName(name, home);
  };
  return { keyOf, hasOwn };
}

const baseOf = (observed: Pick<Observed, 'base'> | undefined): string => observed?.base ?? 'default';

/** The project of a live object; undefined: the connection's. */
export function projectOfLive(observed: Observed, live: object): string | undefined {
  const project = textOf((live as JsonObject)['project']);
  return project === undefined || project === baseOf(observed) ? undefined : project;
}

/** The references of the document, with plan names. */
export function referencesIn(document: Document, { keyOf }: Scopes): readonly Reference[] {
  const { project } = document;
  const own = coreKind(document.kind)
    .references(document)
    .map((reference) =>
      reference.project === undefined && project === undefined
        ? reference
        : { ...reference, name: keyOf(reference.kind, reference.name, reference.project ?? project) },
    );
  return project === undefined || project === 'default'
    ? own
    : [...own, { kind: 'project', name: project, path: 'project', severity: 'error' }];
}
