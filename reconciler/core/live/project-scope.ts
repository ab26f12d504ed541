// Names across projects: an object of another project than the connection's goes by `NAME@PROJECT` everywhere in a plan, and what a
// document calls by a plain name is looked for in its own project, or in `default` when the project shares that kind. Pure.
import { isInProject, kindRow, type KindName } from '../../../server/api/kinds.ts';
import { isTrue } from '../../../server/api/container/container-config.ts';
import { findProjectConfigKey } from '../../../server/api/cluster/project-config.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { coreKind } from '../kinds/index.ts';
import type { Reference } from '../kinds/kind.ts';
import { asText, mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';

export interface Scopes {
  /** How the object that somebody in `project` calls `name` goes in plans; `project` undefined: that of the connection. */
  readonly keyOf: (kind: KindName, name: string, project: string | undefined) => string;
  /** Whether the project has objects of the kind for itself. */
  readonly hasOwn: (kind: KindName, project: string) => boolean;
}

/** `declared`: documents, of which projects say how they will be. */
export function scopesOf(observed: Observed | undefined, declared: readonly Document[] = []): Scopes {
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
    // What is there says all of its features; what is to be made gets the rest from the server.
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

const baseOf = (observed: Observed | undefined): string => observed?.base ?? 'default';

/** The project of a live object; undefined: that of the connection. */
export function projectOfLive(observed: Observed, live: object): string | undefined {
  const project = textOf((live as JsonObject)['project']);
  return project === undefined || project === baseOf(observed) ? undefined : project;
}

/** What the document needs, by the names of plans. */
export function referencesIn(document: Document, { keyOf }: Scopes): readonly Reference[] {
  const { project } = document;
  const found = coreKind(document.kind).references(document);
  if (project === undefined) return found;
  const own = found.map((reference) => ({ ...reference, name: keyOf(reference.kind, reference.name, project) }));
  return project === 'default' ? own : [...own, { kind: 'project', name: project, path: 'project', severity: 'error' }];
}

/** Without its project. */
export const nameWithin = ({ name, project }: Pick<Document, 'name' | 'project'>): string => plainName(name, project);
