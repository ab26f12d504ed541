// Messages for values of the wrong type: the value, the expected type, and the correct form for common mistakes.
import { didYouMean, hint } from '../../../server/api/text/nearest-word.ts';
import type { Problem } from '../../../server/api/problem.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { shownValue } from './shown-value.ts';

/** A problem of the schema in the terms of a manifest: lists and maps instead of arrays and objects, with the written value. */
export function schemaFinding(problem: Problem, document: JsonObject): Finding {
  const { path, message, code, expected } = problem;
  if (/(^|\.)timeout$/.test(path)) return wrong('bad-value', path, `${path} must be a time such as 90s, 5m or 1h`);
  if (code === 'missing') return wrong('missing-key', path, `${path} is required`);
  if (code === 'unknownMember') {
    const text = `is not a key of this kind${didYouMean(problem.near)}`;
    return wrong('unknown-key', path, `${path} ${text}`, placeOfKey(path, valueAt(document, path)));
  }
  const value = valueAt(document, path);
  if (expected === undefined || value === undefined) return wrong('wrong-type', path, `${path} ${message}`);
  const is = value === null ? 'has no value' : `is ${shownValue(value, path)}`;
  return wrong(
    'wrong-type',
    path,
    `${path} must be ${inWords(expected)}, ${is}${nearWord(expected, value)}`,
    example(path, value),
  );
}

const inWords = (allowed: string): string =>
  allowed.includes('a string or a number or a boolean')
    ? 'one text'
    : allowed
        .replaceAll('an object', 'a map')
        .replaceAll('an array', 'a list')
        .replaceAll('a string', 'a text')
        .replaceAll('a boolean', 'true or false')
        .replaceAll(/"(\w+)"/g, '$1')
        .replace(/ or null$/, '');

const nearWord = (allowed: string, value: Json): string =>
  typeof value === 'string'
    ? hint(
        value,
        [...allowed.matchAll(/"(\w+)"/g)].map(([, word]) => word ?? ''),
      )
    : '';

/** Keys of the path may contain dots: the longest matching key wins. */
function valueAt(value: Json, path: string): Json | undefined {
  if (path === '') return value;
  if (Array.isArray(value)) {
    const [first = '', ...rest] = path.split('.');
    const item = (value as readonly Json[])[Number(first)];
    return item === undefined ? undefined : valueAt(item, rest.join('.'));
  }
  if (!isMap(value)) return undefined;
  const keys = Object.keys(value).filter((key) => path === key || path.startsWith(`${key}.`));
  const key = keys.toSorted((a, b) => b.length - a.length)[0];
  return key === undefined ? undefined : valueAt(value[key] ?? null, path.slice(key.length + 1));
}

const plain = (value: Json): string => shownValue(value).replaceAll('"', '');

/** The correct form for mistakes that are common with users of other tools. */
function example(path: string, value: Json): string | undefined {
  if (path === 'profiles' && typeof value === 'string') return `write it as a list: profiles: [${plain(value)}]`;
  if (path === 'source' && typeof value === 'string') return `write source: {type: image, alias: ${plain(value)}}`;
  if (path === 'devices') return 'write each device under its name: devices: {eth0: {type: nic, network: lan}}';
  if (path === 'config') return 'write each key with its value: config: {limits.memory: 1GiB}';
  if (/^devices\.[^.]+$/.test(path))
    return `write the properties of the device: ${path.slice('devices.'.length)}: {type: ...}`;
  const key = /^config\.(.+)$/.exec(path)?.[1];
  return key !== undefined && !key.includes('.') && groups.test(key) && isMap(value)
    ? inOnePiece(key, value)
    : undefined;
}

/** `limits: {memory: 1GiB}`: keys of config are not nested. */
function inOnePiece(key: string, value: JsonObject): string | undefined {
  const [first] = Object.entries(value);
  return first === undefined || isMap(first[1])
    ? undefined
    : `write the key in one piece: ${key}.${first[0]}: ${plain(first[1])}`;
}

const groups = /^(boot|cloud-init|environment|limits|linux|nvidia|raw|security|snapshots|user)(\.|$)/;

/** The place of a config key that is written outside of config. */
function placeOfKey(path: string, value: Json | undefined): string | undefined {
  if (!groups.test(path) || value === undefined) return undefined;
  if (!isMap(value)) return `it belongs into config: config: {${path}: ${plain(value)}}`;
  const [first] = Object.entries(value);
  return first === undefined || isMap(first[1])
    ? undefined
    : `it belongs into config, in one piece: config: {${path}.${first[0]}: ${plain(first[1])}}`;
}
