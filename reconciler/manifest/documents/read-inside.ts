// Reads `files:`, `exec:` and `snapshots:` of a container document into the form of core/documents/inside.ts, or says what is wrong with them.
// Their shape was checked against the schema before; files that lie here are read by read-contents.ts.
import { snapshotName } from '../../../server/api/names.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { triggerOf, type ExecSpec, type FileEntry, type SnapshotSpec } from '../../core/documents/inside.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { asText, isMap, mapOf, presentTexts } from '../../core/documents/json-values.ts';
import { posix } from '../../core/text/posix-paths.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { fileEntry, readContents, sha256, type PlacedEntry } from './read-contents.ts';
import { readDuration } from './read-manage.ts';
import type { LooseDocument } from './read-document.ts';

export interface InsideSetting {
  /** What local paths are relative to. */
  readonly folder: string;
  /** false: local files are only looked for, not read. */
  readonly read: boolean;
}

/** More than this belongs into an image or a volume; the names of all are kept on the container. */
const mostFiles = 1000;
const mostNameBytes = 48_000;

export async function readInside(
  document: LooseDocument,
  setting: InsideSetting,
  signal?: AbortSignal,
): Promise<{ readonly document: LooseDocument; readonly findings: readonly Finding[] }> {
  const { files, exec, snapshots, ...others } = document.values;
  if (document.kind === 'storage_volume') return readVolume(document);
  if (document.kind !== 'container' || (files ?? exec ?? snapshots) === undefined) return { document, findings: [] };
  const findings: Finding[] = [];
  const placed = await readFiles(listOf(files), setting, findings, signal);
  const entries = Object.fromEntries(placed.map(({ path, entry }) => [path, entry]));
  const contents = placed.flatMap(({ path, content }) => (content === undefined ? [] : [[path, content] as const]));
  const taken = readSnapshots(snapshots, mapOf(others['config']), findings);
  const values: JsonObject = {
    ...others,
    ...(Object.keys(taken.config).length === 0 ? {} : { config: { ...mapOf(others['config']), ...taken.config } }),
    ...(files === undefined ? {} : { files: entries }),
    ...(taken.named === undefined ? {} : { snapshots: taken.named as unknown as JsonObject }),
  };
  const commands = readCommands(listOf(exec), values, findings);
  if (commands.length > 0 && document.state === 'stopped') {
    const message = 'the container is declared stopped: its commands run once it is not';
    findings.push({ severity: 'warning', code: 'not-used', path: 'exec', message });
  }
  const secrets = document.secrets?.map((path) => secretPath(path, listOf(files), listOf(exec)));
  return {
    document: {
      ...document,
      values: exec === undefined ? values : { ...values, exec: Object.fromEntries(commands) as unknown as JsonObject },
      ...(contents.length === 0 ? {} : { contents: Object.fromEntries(contents) }),
      ...(secrets === undefined ? {} : { secrets }),
    },
    findings,
  };
}

/** A volume has snapshots, and nothing else inside that a document says. */
function readVolume(document: LooseDocument): {
  readonly document: LooseDocument;
  readonly findings: readonly Finding[];
} {
  const { snapshots, ...others } = document.values;
  if (snapshots === undefined) return { document, findings: [] };
  const findings: Finding[] = [];
  const named = readNamed(listOf(snapshots), 'snapshots', findings) as unknown as JsonObject;
  return { document: { ...document, values: { ...others, snapshots: named } }, findings };
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isMap) : [];

/** Where a secret stands in the values that plans see: lists are maps there. */
function secretPath(path: string, files: readonly JsonObject[], exec: readonly JsonObject[]): string {
  const [field = '', index = '', ...rest] = path.split('.');
  if (field === 'files') {
    const member = rest[0] === 'content_base64' || rest[0] === 'source' ? 'content' : rest.join('.');
    return `files.${asText(files[Number(index)]?.['path'])}.${member}`;
  }
  if (field !== 'exec') return path;
  // A text is the last of three words for the shell.
  const words = rest.join('.') === 'command' ? ['command', '2'] : rest;
  return ['exec', asText(exec[Number(index)]?.['name']), ...words].join('.');
}

async function readFiles(
  items: readonly JsonObject[],
  setting: InsideSetting,
  findings: Finding[],
  signal: AbortSignal | undefined,
): Promise<readonly PlacedEntry[]> {
  const placed: PlacedEntry[] = [];
  for (const [index, item] of items.entries()) {
    const at = `files.${index}`;
    const before = findings.length;
    const path = asText(item['path']);
    if (!posix.isPlain(path)) {
      findings.push(
        wrong('bad-value', `${at}.path`, `${at}.path must be an absolute path without ., .. and a slash at its end`),
      );
    }
    const spec = readEntry(item, at, findings);
    if (spec === undefined || findings.length > before) continue;
    const source = item['source'];
    if (typeof source !== 'string') {
      placed.push({ path, at, ...inlineEntry(item, spec) });
      continue;
    }
    const read = await readContents({ path, at, source, spec, ...setting }, signal);
    findings.push(...read.findings);
    placed.push(...read.entries);
  }
  checkTogether(placed, findings);
  return placed;
}

/** What is written of an entry, without its content. */
export interface EntrySpec {
  readonly type: FileEntry['type'];
  readonly mode?: string;
  readonly uid?: number;
  readonly gid?: number;
}

const modePattern = /^0?[0-7]{3}$/;

function readEntry(item: JsonObject, at: string, findings: Finding[]): EntrySpec | undefined {
  const said = ['content', 'content_base64', 'source', 'target'].filter((key) => item[key] !== undefined);
  const [first] = said;
  const written = item['type'] as FileEntry['type'] | undefined;
  const type = written ?? (first === 'target' ? 'symlink' : 'file');
  const allowed =
    type === 'symlink' ? ['target'] : type === 'directory' ? ['source'] : ['content', 'content_base64', 'source'];
  const wanted = type === 'directory' && first === undefined ? 0 : 1;
  if (said.length !== wanted || !said.every((key) => allowed.includes(key))) {
    const what = type === 'directory' ? 'nothing but source' : `exactly one of ${allowed.join(', ')}`;
    const message = `a ${type} takes ${what}${said.length === 0 ? '' : `, this has ${said.join(' and ')}`}`;
    findings.push(wrong('bad-value', said[0] === undefined ? `${at}.path` : `${at}.${said[0]}`, message));
    return undefined;
  }
  const { mode, uid, gid } = item;
  if (type === 'symlink' && (mode ?? uid ?? gid) !== undefined) {
    findings.push(wrong('bad-value', `${at}.target`, 'a symbolic link has no mode and owner of its own here'));
  }
  if (mode !== undefined && (typeof mode !== 'string' || !modePattern.test(mode))) {
    const message = `${at}.mode must be octal text of three digits such as "0644"`;
    findings.push(wrong('bad-value', `${at}.mode`, message, 'write it in quotes; bits beyond 0777 cannot be set'));
  }
  return {
    type,
    ...(typeof mode === 'string' ? { mode: mode.padStart(4, '0') } : {}),
    ...numberOf('uid', uid),
    ...numberOf('gid', gid),
  };
}

const numberOf = <K extends string>(name: K, value: Json | undefined): Partial<Record<K, number>> =>
  value === undefined || value === null ? {} : ({ [name]: Number(value) } as Record<K, number>);

function inlineEntry(item: JsonObject, spec: EntrySpec): Pick<PlacedEntry, 'entry' | 'content'> {
  if (spec.type === 'symlink') return { entry: { type: 'symlink', target: asText(item['target']) } };
  if (spec.type === 'directory') return { entry: spec };
  const base64 = item['content_base64'];
  const content = typeof base64 === 'string' ? { base64 } : { text: asText(item['content']) };
  const bytes = 'base64' in content ? Buffer.from(content.base64, 'base64') : Buffer.from(content.text);
  return { entry: fileEntry(spec, sha256(bytes), '0644'), content };
}

function checkTogether(placed: readonly PlacedEntry[], findings: Finding[]): void {
  const byPath = new Map<string, PlacedEntry>();
  for (const one of placed) {
    if (byPath.has(one.path)) findings.push(wrong('duplicate', `${one.at}.path`, `${one.path} is declared twice`));
    byPath.set(one.path, one);
  }
  for (const { path, at } of placed) {
    for (let above = posix.parentOf(path); above !== '/'; above = posix.parentOf(above)) {
      const holder = byPath.get(above);
      if (holder === undefined || holder.entry.type === 'directory') continue;
      findings.push(
        wrong('bad-value', `${at}.path`, `${path} is below ${above}, which is declared as a ${holder.entry.type}`),
      );
    }
  }
  const bytes = placed.reduce((sum, { path }) => sum + Buffer.byteLength(path), 0);
  if (placed.length <= mostFiles && bytes <= mostNameBytes) return;
  const message = `${placed.length} files with ${bytes} bytes of names are more than the ${mostFiles} files and ${mostNameBytes} bytes that a container may declare`;
  findings.push(wrong('too-many-files', 'files', message, 'put big trees into an image, or into a volume'));
}

const namePattern = /^(?![0-9]+$)[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const triggerKinds = ['once', 'on_change', 'on_start', 'creates'];

function readCommands(
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
    ...(codes === undefined ? {} : { exit_codes: codes }),
    timeout_ms: readDuration(item['timeout'], 300_000, `${at}.timeout`, findings),
  };
}

/** Numbers and booleans as the texts they will be. */
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
    const what = name.startsWith('/') ? 'no file is declared there' : 'the document says nothing of it';
    const remedy = 'name a path of files:, a directory above one, or a key such as config.limits.memory';
    findings.push(wrong('bad-reference', `${at}.on_change.${index}`, `${name}: ${what}`, remedy));
  }
  return names;
}

interface Snapshots {
  readonly named?: Readonly<Record<string, SnapshotSpec>>;
  readonly config: Readonly<Record<string, Json>>;
}

const policyKeys: Readonly<Record<string, string>> = {
  schedule: 'snapshots.schedule',
  pattern: 'snapshots.pattern',
  expiry: 'snapshots.expiry',
  stopped: 'snapshots.schedule.stopped',
};

function readSnapshots(value: Json | undefined, config: JsonObject, findings: Finding[]): Snapshots {
  if (value === undefined || value === null) return { config: {} };
  if (!isMap(value)) return { named: readNamed(listOf(value), 'snapshots', findings), config: {} };
  const policy: Record<string, Json> = {};
  for (const [name, key] of Object.entries(policyKeys)) {
    const said = value[name];
    if (said === undefined) continue;
    if (key in config) findings.push(wrong('duplicate', `snapshots.${name}`, `config has ${key} already: say it once`));
    policy[key] = asText(said);
    for (const { message } of coreKind('container').validate({ config: { [key]: asText(said) } }, '')) {
      findings.push(wrong('bad-value', `snapshots.${name}`, `snapshots.${name} ${message}`));
    }
  }
  const named = value['named'];
  return {
    config: policy,
    ...(named === undefined ? {} : { named: readNamed(listOf(named), 'snapshots.named', findings) }),
  };
}

function readNamed(
  items: readonly JsonObject[],
  at: string,
  findings: Finding[],
): Readonly<Record<string, SnapshotSpec>> {
  const named: Record<string, SnapshotSpec> = {};
  for (const [index, item] of items.entries()) {
    const name = asText(item['name']);
    const broken = snapshotName(name) ?? (/^[0-9]+$/.test(name) ? 'must not be a number' : undefined);
    if (broken !== undefined)
      findings.push(wrong('bad-name', `${at}.${index}.name`, `the name ${JSON.stringify(name)} ${broken}`));
    if (name in named) findings.push(wrong('duplicate', `${at}.${index}.name`, `there are two snapshots ${name}`));
    const until = item['expires_at'];
    const untilMs = typeof until === 'string' ? Date.parse(until) : undefined;
    if (Number.isNaN(untilMs)) {
      const message = `${at}.${index}.expires_at must be a time such as 2030-12-31 or 2030-12-31T06:00:00Z`;
      findings.push(wrong('bad-value', `${at}.${index}.expires_at`, message));
    }
    const isTime = untilMs !== undefined && !Number.isNaN(untilMs);
    named[name] = {
      ...(typeof item['description'] === 'string' ? { description: item['description'] } : {}),
      ...(isTime ? { expires_at: new Date(untilMs).toISOString() } : {}),
      ...(item['stateful'] === true ? { stateful: true } : {}),
    };
  }
  return named;
}
