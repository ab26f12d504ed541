// Puts documents without a project into a given one. Pure.
import { isInProject, kindNames, kindRow, type KindName } from '../../../server/api/kinds.ts';
import type { Json } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { flatForm } from './read-document.ts';

export interface IntoProject {
  readonly name: string;
  readonly config?: Readonly<Record<string, string>>;
}

/** Kinds that projects share unless their config says otherwise. */
const sharedByDefault: ReadonlySet<string> = new Set(['features.networks']);

export function intoProject(value: Json, { name, config = {} }: IntoProject): Json {
  if (!isMap(value)) return value;
  const flat = flatForm(value);
  const kind = flat['kind'] as KindName;
  if (flat['project'] !== undefined || flat['patch'] === true) return value;
  if (!kindNames.includes(kind) || !isInProject(kind)) return value;
  const feature = kindRow(kind).projectFeature ?? '';
  const isShared = feature !== '' && (config[feature] ?? String(!sharedByDefault.has(feature))) !== 'true';
  return isShared ? value : { ...flat, project: name };
}
