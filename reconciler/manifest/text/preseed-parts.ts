// Splits a preseed document (`lxd init --preseed`, `--dump`) into gantry documents, one for each entry of its lists. As with lxd init,
// the given keys are set, and nothing is removed or pruned.
import { kindRow, listedKinds, type KindName } from '../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { wrong, type Finding } from './finding.ts';
import type { RawDocument } from './parse-yaml.ts';

/** The lists and the other keys of a preseed document. */
const lists: Readonly<Record<string, KindName>> = Object.fromEntries(
  listedKinds.map((kind) => [kindRow(kind).plural ?? kind, kind]),
);
/** Known words that are refused unless they are empty. */
const refused: Readonly<Record<string, string>> = { cluster: 'clusters are not managed in this version' };

/** Top-level keys that no gantry document has at its top level. */
export const preseedKeys: readonly string[] = ['config', ...Object.keys(lists), ...Object.keys(refused)];

export function isPreseed(value: Json): value is JsonObject {
  if (!isMap(value) || 'kind' in value || 'apiVersion' in value) return false;
  const keys = Object.keys(value);
  return keys.some((key) => preseedKeys.includes(key)) && keys.every((key) => preseedKeys.includes(key));
}

export interface PreseedParts {
  readonly parts: readonly RawDocument[];
  readonly findings: readonly Finding[];
}

export function readPreseed(value: JsonObject, raw: RawDocument): PreseedParts {
  const parts: RawDocument[] = [];
  const findings: Finding[] = [];
  for (const [key, content] of Object.entries(value)) {
    if (isEmpty(content)) continue;
    const message = Object.hasOwn(refused, key) ? refused[key] : undefined;
    const kind = Object.hasOwn(lists, key) ? lists[key] : undefined;
    if (message !== undefined) {
      findings.push(wrong('not-available', key, message, `take ${key} out, or leave it empty`));
    } else if (key === 'config') parts.push(serverPart(withoutPassword(content, findings), raw));
    else if (!Array.isArray(content)) findings.push(wrong('bad-value', key, `${key} must be a list`));
    else if (kind !== undefined) {
      for (const [index, item] of (content as readonly Json[]).entries())
        if (!isDefaultProject(kind, item)) parts.push(itemPart(kind, key, index, item, raw));
    }
  }
  return { parts, findings };
}

const isEmpty = (value: Json): boolean =>
  value === null || (Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0);

/** Dumps contain the project default, which every server has. */
const isDefaultProject = (kind: KindName, item: Json): boolean =>
  kind === 'project' && isMap(item) && item['name'] === 'default';

/** Preseeds set the trust password of older clients. No server shows it, so that it cannot be compared. */
function withoutPassword(config: Json, findings: Finding[]): Json {
  if (!isMap(config) || !('core.trust_password' in config)) return config;
  findings.push({
    severity: 'warning',
    code: 'write-only-key',
    path: 'config.core.trust_password',
    message: 'core.trust_password is left out: no server shows it, so a plan could not compare it',
    remedy: 'declare the certificates to trust, or set the password on the server itself',
  });
  return Object.fromEntries(Object.entries(config).filter(([key]) => key !== 'core.trust_password'));
}

const manage: JsonObject = { mode: 'add', prune: false };

const serverPart = (config: Json, raw: RawDocument): RawDocument => ({
  value: { kind: 'server_config', config, manage },
  offset: raw.placeOf('config', 'key').offset,
  placeOf: raw.placeOf,
});

function itemPart(kind: KindName, list: string, index: number, item: Json, raw: RawDocument): RawDocument {
  const own = `${list}.${index}`;
  const written = isMap(item) ? item : {};
  return {
    value: {
      kind,
      ...withoutForeign(kind, written),
      manage: { ...manage, ...(isMap(written['manage']) ? written['manage'] : {}) },
    },
    offset: raw.placeOf(own, 'value').offset,
    placeOf: (path, part) => raw.placeOf(path === '' ? own : `${own}.${path}`, part),
  };
}

/** The location keys of dumps. */
function withoutForeign(kind: KindName, item: JsonObject): JsonObject {
  const { project, managed: _managed, ...rest } = item;
  return project === undefined || project === 'default' || project === '' ? rest : { ...rest, project };
}
