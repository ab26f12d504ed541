// Messages for a document whose kind is missing, is not a word, or is the word of another tool.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { isKindName, kindNames, kindOfWord, kinds, type KindName } from '../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { preseedKeys } from '../text/preseed-parts.ts';
import { shownValue } from './shown-value.ts';

const noMachines = 'gantry manages system containers, no virtual machines';

const begin = (kind: string): string => `begin it with \`kind: ${kind}\``;

/** Undefined when the kind is known. */
export function kindProblem(value: JsonObject): Finding | undefined {
  const kind = value['kind'];
  if (kind === undefined) return withoutKind(value);
  if (typeof kind !== 'string') {
    const is = kind === null ? 'has no value' : `must be one word, is ${shownValue(kind)}`;
    return wrong('wrong-type', 'kind', `kind ${is}`, remedyFor(kind));
  }
  return isKindName(kind) ? undefined : unknownKind(kind);
}

/** `[profile]` was meant as `profile`. */
function remedyFor(kind: Json): string {
  const [only] = Array.isArray(kind) ? (kind as readonly Json[]) : [];
  return typeof only === 'string' && isKindName(only)
    ? `write \`kind: ${only}\``
    : `the kinds are ${kindNames.join(', ')} and vars`;
}

function unknownKind(kind: string): Finding {
  const meant = kindOfWord(kind);
  const all = `the kinds are ${kindNames.join(', ')} and vars`;
  if (/^(vm|virtual[-_\s]?machines?)$/i.test(kind))
    return wrong('unknown-kind', 'kind', `unknown kind ${kind}: ${noMachines}`, all);
  if (meant === undefined)
    return wrong('unknown-kind', 'kind', `unknown kind ${kind}${hint(kind, [...kindNames, 'vars'])}`, all);
  return wrong(
    'unknown-kind',
    'kind',
    `unknown kind ${kind} (did you mean ${meant}?)`,
    `write \`kind: ${meant}\`: ${aKind(meant)}`,
  );
}

const aKind = (kind: KindName): string => kinds[kind].doc.split(/[.:]\s|\.$/)[0] ?? '';

function withoutKind(value: JsonObject): Finding {
  const keys = Object.keys(value);
  const near =
    keys.find((key) => key.toLowerCase() !== 'kind' && hint(key, ['kind']) !== '') ??
    keys.find((key) => key.toLowerCase() === 'kind');
  const kinds = `begin it with \`kind:\` and one of ${kindNames.join(', ')}`;
  if (near !== undefined) return wrong('missing-kind', near, `unknown key ${near} (did you mean kind?)`, kinds);
  const isList = keys.some((key) => key !== 'config' && preseedKeys.includes(key) && !namesOnly(value[key]));
  const other = keys.find((key) => !preseedKeys.includes(key));
  if (isList && other !== undefined) {
    const message = `a preseed document has no ${other}${hint(other, preseedKeys)}`;
    return wrong('unknown-key', other, message, `its keys are ${preseedKeys.join(', ')}`);
  }
  if (keys.includes('services'))
    return wrong(
      'missing-kind',
      '',
      'the document has no kind: it looks like a compose file',
      'gantry import compose FILE -o stack.yaml writes manifests of it',
    );
  const looks = looksLike(value);
  return looks === undefined
    ? wrong('missing-kind', '', 'the document has no kind', kinds)
    : wrong('missing-kind', '', `the document has no kind: it looks like a ${looks}`, begin(looks));
}

/** `profiles` of a container, whose list in a preseed holds maps. */
const namesOnly = (list: Json | undefined): boolean =>
  Array.isArray(list) && list.length > 0 && (list as readonly Json[]).every((item) => typeof item === 'string');

/** Members that only one kind has, as in the output of `lxc ... show`. */
const marks: readonly (readonly [kind: KindName, keys: readonly string[]])[] = [
  ['container', ['ephemeral', 'profiles', 'expanded_config', 'stateful', 'exec', 'files']],
  ['storage_volume', ['content_type', 'pool']],
  ['image', ['auto_update', 'rootfs']],
  ['certificate', ['certificate']],
  ['storage_pool', ['driver']],
  ['network', ['managed']],
  ['profile', ['devices']],
];

function looksLike(value: JsonObject): KindName | undefined {
  if (value['type'] === 'bridge') return 'network';
  return marks.find(([, keys]) => keys.some((key) => Object.hasOwn(value, key)))?.[0];
}

/** The problem of a `type` together with `kind: container`, which other tools use. */
export function machineProblem(kind: KindName, flat: JsonObject): Finding | undefined {
  if (kind !== 'container' || flat['type'] !== 'virtual-machine') return undefined;
  return wrong('bad-value', 'type', `type cannot be virtual-machine: ${noMachines}`, 'take type out for a container');
}
