// Rules of a document that its schema cannot express, as findings in the terms of a manifest.
import { lxdPropertyNames } from '../../../server/api/server/lxd-keys.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Problem } from '../../../server/api/problem.ts';
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf } from '../../core/documents/json-values.ts';
import { hidden, isSecret } from '../../core/documents/secret.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { isNote } from '../../core/ownership/owner-records.ts';
import { foreignNames } from '../../core/settings/lxd-settings.ts';
import { wrong, type Finding } from '../text/finding.ts';

/** Config, device and file rules; places with a known problem are not checked again. */
export function ruleFindings(kind: KindName, value: JsonObject, known: readonly Finding[]): readonly Finding[] {
  const seen = known.map((finding) => finding.path);
  const isKnown = (path: string): boolean =>
    seen.some((one) => one === path || path.startsWith(`${one}.`) || one.startsWith(`${path}.`));
  const findings = coreKind(kind)
    .validate(textual(value), asText(value['name']))
    .map((problem) => {
      const { path, code } = problem;
      const message = withSubject(path, `${problem.message}${foreignHint(kind, value, problem)}`);
      const isUnknown = code === 'unknownKey' || code === 'unknownProperty';
      return wrong(isUnknown ? 'unknown-key' : 'bad-value', path, withoutSecret(path, message));
    });
  if (kind === 'image') findings.push(...fileFindings(value));
  findings.push(...noteFindings(mapOf(value['config'])));
  return findings.filter((finding) => !isKnown(finding.path));
}

/** A hint from the keys of LXD, which the tables of the contract lack. */
function foreignHint(kind: KindName, value: JsonObject, { path, code, near }: Problem): string {
  if (near !== undefined) return '';
  if (code === 'unknownKey') return hint(path.slice(path.indexOf('.') + 1), foreignNames(kind));
  if (code !== 'unknownProperty') return '';
  const [, name = '', ...rest] = path.split('.');
  const type = asText(mapOf(mapOf(value['devices'])[name])['type']);
  return hint(rest.join('.'), lxdPropertyNames(type));
}

/** Rules begin with a verb ("must be ..."), some name their key already. */
const withSubject = (path: string, message: string): string =>
  /^(must|is|has|sets|cannot) /.test(message) ? `${path} ${message}` : message;

/** Masks secret values that rules quote; names are not secret. */
const withoutSecret = (path: string, message: string): string =>
  isSecret(path.split('.', 1), undefined) || isSecret(['config', path.slice(path.indexOf('.') + 1)], undefined)
    ? message.replaceAll(/"(?:[^"\\]|\\.)*"/g, (quoted) => (path.endsWith(quoted.slice(1, -1)) ? quoted : hidden))
    : message;

/** Booleans of maps as texts. */
function textual(value: JsonObject): JsonObject {
  let out: Record<string, Json> | undefined;
  for (const key of Object.keys(value)) {
    const item = value[key] ?? null;
    const text = typeof item === 'boolean' ? String(item) : isMap(item) ? textual(item) : item;
    if (text !== item) (out ??= { ...value })[key] = text;
  }
  return out ?? value;
}

/** Keys that gantry itself writes on a server: owners, locks, history. A document must not contain them. */
const noteFindings = (config: JsonObject): readonly Finding[] =>
  Object.keys(config)
    .filter(isNote)
    .map((key) =>
      wrong(
        'reserved-key',
        `config.${key}`,
        `config.${key} is a key that gantry writes on the server itself: documents cannot set it`,
        'take it out; on another server it would claim objects that do not exist',
      ),
    );

function fileFindings(value: JsonObject): Finding[] {
  const has = (key: string): boolean => typeof value[key] === 'string';
  const split = has('metadata') && has('rootfs');
  if (value['source'] !== undefined) {
    const other = ['file', 'metadata', 'rootfs'].find(has);
    return other === undefined
      ? []
      : [wrong('image-files', other, `${other} and source exclude each other: an image has one of them`)];
  }
  if (has('file') !== split && !(has('file') && (has('metadata') || has('rootfs')))) return [];
  const message = 'an image needs either `file:`, or `metadata:` and `rootfs:`, or `source:`';
  return [wrong('image-files', has('file') ? 'file' : '', message)];
}
