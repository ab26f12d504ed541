// Reads `files:`, `exec:` and `snapshots:` of a container document into the form of core/documents/inside.ts, or reports their problems.
// The schema has checked their shape; read-contents.ts reads local files.
import type { JsonObject, Json } from '../../core/documents/document.ts';
import type { FileEntry, SnapshotSpec } from '../../core/documents/inside.ts';
import { asText, mapOf, isMap } from '../../core/documents/json-values.ts';
import { posix } from '../../core/text/posix-paths.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { fileEntry, readContents, sha256, type PlacedEntry } from './read-contents.ts';
import { listOf, numberOf } from './entries.ts';
import { readCommands } from './read-commands.ts';
import type { LooseDocument } from './read-document.ts';
import type { InsideSetting, EntrySpec } from './inside-settings.ts';
import { snapshotPolicyKeys } from '../../../server/api/container/snapshot.ts';
import { snapshotName } from '../../../server/api/names.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export { type InsideSetting, type EntrySpec } from './inside-settings.ts';

/** The limit of entries; more belong into an image or a volume, since the container stores the names of all. */
const maxFiles = 1000;
const maxNameBytes = 48_000;

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
      ...withoutUndefined({ secrets }),
    },
    findings,
  };
}

/** A volume document has snapshots only. */
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

/** The path of a secret in the values of plans, where lists are maps. */
function secretPath(path: string, files: readonly JsonObject[], exec: readonly JsonObject[]): string {
  const [field = '', index = '', ...rest] = path.split('.');
  if (field === 'files') {
    const member = rest[0] === 'content_base64' || rest[0] === 'source' ? 'content' : rest.join('.');
    return `files.${asText(files[Number(index)]?.['path'])}.${member}`;
  }
  if (field !== 'exec') return path;
  // A text becomes the last of three words for the shell.
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
    const what = type === 'directory' ? 'only source' : `exactly one of ${allowed.join(', ')}`;
    const message = `a ${type} takes ${what}${said.length === 0 ? '' : `, this has ${said.join(' and ')}`}`;
    findings.push(wrong('bad-value', said[0] === undefined ? `${at}.path` : `${at}.${said[0]}`, message));
    return undefined;
  }
  const { mode, uid, gid } = item;
  if (type === 'symlink' && (mode ?? uid ?? gid) !== undefined) {
    findings.push(wrong('bad-value', `${at}.target`, 'a symbolic link cannot have a mode or an owner here'));
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
  if (placed.length <= maxFiles && bytes <= maxNameBytes) return;
  const message = `${placed.length} files with ${bytes} bytes of names are more than the ${maxFiles} files and ${maxNameBytes} bytes that a container may declare`;
  findings.push(wrong('too-many-files', 'files', message, 'put big trees into an image, or into a volume'));
}

interface Snapshots {
  readonly named?: Readonly<Record<string, SnapshotSpec>>;
  readonly config: Readonly<Record<string, Json>>;
}

/** Reads `snapshots:` of a container or volume document, or reports its problems. */
function readSnapshots(value: Json | undefined, config: JsonObject, findings: Finding[]): Snapshots {
  if (value === undefined || value === null) return { config: {} };
  if (!isMap(value)) return { named: readNamed(listOf(value), 'snapshots', findings), config: {} };
  const policy: Record<string, Json> = {};
  for (const [name, key] of Object.entries(snapshotPolicyKeys)) {
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
