// Reads `exec:` of a container document, or reports its problems.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { triggerOf, type ExecSpec } from '../../core/documents/inside.ts';
import { asText, isMap, presentTexts } from '../../core/documents/json-values.ts';
import { posix } from '../../core/text/posix-paths.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { numberOf } from './entries.ts';
import { readDuration } from './read-manage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const namePattern = /^(?![0-9]+$)[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const triggerKinds = ['once', 'on_change', 'on_start', 'creates'];

export function readCommands(
  items: readonly JsonObject[],
  values: JsonObject,
  findings: Finding[],
): readonly (readonly [string, ExecSpec])[] {
  const names = new Set<string>();
  return items.map((item, index): readonly [string, ExecSpec] => {
    const at = `exec.${index}`;
    const name = asText(item['name']);
    if (!namePattern.test(name)) {
      const message = `${at}.name must be letters, digits, - and _, and not only digits`;
      findings.push(wrong('bad-name', `${at}.name`, message));
    }
    if (names.has(name)) findings.push(wrong('duplicate', `${at}.name`, `there are two commands ${name}`));
    names.add(name);
    return [name, readCommand(item, at, values, findings)];
  });
}

function readCommand(item: JsonObject, at: string, values: JsonObject, findings: Finding[]): ExecSpec {
  const said = triggerKinds.filter((key) => item[key] !== undefined && item[key] !== false);
  if (said.length > 1) {
    const message = `${said.join(' and ')} exclude each other`;
    findings.push(wrong('bad-value', `${at}.${said[1] ?? ''}`, message));
  }
  const { environment, cwd, user, group, creates, unless } = item;
  for (const key of ['cwd', 'creates'] as const) {
    const path = item[key];
    if (typeof path !== 'string' || posix.isPlain(path) || (key === 'cwd' && path === '/')) continue;
    findings.push(wrong('bad-value', `${at}.${key}`, `${at}.${key} must be an absolute path without . and ..`));
  }
  const triggers = readTriggers(item['on_change'], at, values, findings);
  const codes = readCodes(item['exit_code']);
  return {
    command: wordsOf(item['command']),
    ...(isMap(environment) ? { environment: textsOf(environment) } : {}),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...numberOf('user', user),
    ...numberOf('group', group),
    ...(item['once'] === true ? { once: true } : {}),
    ...(triggers.length === 0 ? {} : { on_change: triggers }),
    ...(item['on_start'] === true ? { on_start: true } : {}),
    ...(isMap(item['triggers']) ? { triggers: textsOf(item['triggers']) } : {}),
    ...(unless === undefined ? {} : { unless: wordsOf(unless) }),
    ...(typeof creates === 'string' ? { creates } : {}),
    ...withoutUndefined({ exit_codes: codes }),
    timeout_ms: readDuration(item['timeout'], 300_000, `${at}.timeout`, findings),
  };
}

/** Numbers and booleans as texts. */
const textsOf = (map: JsonObject): Readonly<Record<string, string>> =>
  presentTexts(Object.fromEntries(Object.entries(map).map(([key, value]) => [key, asText(value)])));

const wordsOf = (command: Json | undefined): readonly string[] =>
  Array.isArray(command) ? (command as readonly Json[]).map(asText) : ['/bin/sh', '-c', asText(command)];

function readCodes(value: Json | undefined): readonly number[] | undefined {
  if (value === undefined) return undefined;
  if (value === 'any') return [];
  return (Array.isArray(value) ? (value as readonly Json[]) : [value]).map(Number);
}

function readTriggers(value: Json | undefined, at: string, values: JsonObject, findings: Finding[]): readonly string[] {
  const names = Array.isArray(value) ? (value as readonly Json[]).map(asText) : [];
  for (const [index, name] of names.entries()) {
    const found = triggerOf(values, name);
    if (found !== null && !(Array.isArray(found) && found.length === 0)) continue;
    const what = name.startsWith('/') ? 'no file is declared there' : 'the document does not declare it';
    const remedy = 'name a path of files:, a directory above one, or a key such as config.limits.memory';
    findings.push(wrong('bad-reference', `${at}.on_change.${index}`, `${name}: ${what}`, remedy));
  }
  return names;
}
