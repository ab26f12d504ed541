// Sources, files, commands and snapshots of containers in the arguments of the well-known providers for LXD and Incus, with the
// defaults of those providers.
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { Members } from '../evaluation/argument-shapes.ts';
import type { Remote } from '../provider-blocks.ts';
import {
  ArgumentError,
  commandName,
  isSet,
  objects,
  same,
  withoutNull,
  wordOf,
  type Arguments,
  type PartType,
} from './resource-type.ts';
import { computedOf } from './schema-facts.ts';

export type Provider = 'lxd' | 'incus';

/** The default remotes of both command lines. */
export const knownRemotes: Readonly<Record<Provider, Readonly<Record<string, string>>>> = {
  lxd: {
    ubuntu: 'https://cloud-images.ubuntu.com/releases',
    'ubuntu-daily': 'https://cloud-images.ubuntu.com/daily',
    images: 'https://images.lxd.canonical.com',
  },
  incus: { images: 'https://images.linuxcontainers.org' },
};

export function sourceOf(
  args: Arguments,
  provider: Provider,
  remotes: Readonly<Record<string, Remote>>,
): { readonly source: JsonObject } {
  const from = objects(args['source_instance'])[0];
  if (from === undefined) return { source: imageSource(args['image'], provider, remotes) };
  if (isSet(args['image'])) throw new ArgumentError('image', 'image and source_instance exclude each other');
  if (isSet(from['project']) && from['project'] !== args['project'])
    throw new ArgumentError('source_instance', 'source_instance: copies stay in their project');
  const snapshot = isSet(from['snapshot']) ? `/${wordOf(from['snapshot'])}` : '';
  return { source: { type: 'copy', source: `${wordOf(from['name'])}${snapshot}` } };
}

/** `debian/12`, a fingerprint, `images:debian/12` of a remote of the provider block or of a default remote. */
function imageSource(
  reference: Json | undefined,
  provider: Provider,
  remotes: Readonly<Record<string, Remote>>,
): JsonObject {
  if (!isSet(reference) || reference === '') return { type: 'none' };
  const text = wordOf(reference);
  const colon = text.indexOf(':');
  const [name, image] = colon < 0 ? ['local', text] : [text.slice(0, colon), text.slice(colon + 1)];
  const named = /^[0-9a-f]{12,64}$/.test(image) ? { fingerprint: image } : { alias: image };
  if (name === 'local') return { type: 'image', ...named };
  const known = knownRemotes[provider][name];
  const remote = remotes[name] ?? (known === undefined ? undefined : { server: known, protocol: 'simplestreams' });
  if (remote !== undefined) return { type: 'image', mode: 'pull', ...remote, ...named };
  const message = `the remote ${name} is unknown: declare it in the provider block as remote { name, address, protocol }`;
  throw new ArgumentError('image', message);
}

const defaultMode = '0755';

function fileEntry(written: JsonObject): JsonObject {
  const { content, source_path: source, target_path: path, uid, gid, mode } = withoutNull(written);
  if (!isSet(path)) throw new ArgumentError('file', 'file: target_path is missing');
  if (written['append'] === true) throw new ArgumentError('append', 'append: files are written as a whole here');
  return {
    path,
    ...(isSet(source) && source !== '' ? { source } : { content: content ?? '' }),
    mode: isSet(mode) && mode !== '' ? mode : defaultMode,
    ...(isSet(uid) ? { uid } : {}),
    ...(isSet(gid) ? { gid } : {}),
  };
}

export function filesOf(files: Json | undefined): JsonObject {
  const list = objects(files).map(fileEntry);
  return list.length === 0 ? {} : { files: list };
}

/** `execs`, a map in the order of its keys, or `exec` blocks. */
export function commandsOf(args: Arguments): JsonObject {
  const map = isMap(args['execs']) ? args['execs'] : {};
  const named = Object.keys(map)
    .toSorted()
    .flatMap((name) => {
      const spec = map[name];
      return isMap(spec) && spec['enabled'] !== false ? [commandEntry('execs', name, spec, false)] : [];
    });
  const blocks = objects(args['exec']).map((spec, at) => commandEntry('exec', `exec-${at}`, spec, true));
  const list = [...named, ...blocks];
  return list.length === 0 ? {} : { exec: list };
}

/** The provider for LXD ignores failing commands by default. */
function commandEntry(argument: string, name: string, spec: JsonObject, failsByDefault: boolean): JsonObject {
  const { command, environment, working_dir: cwd, uid, gid, timeout, trigger, fail_on_error: fails } = spec;
  if (isSet(trigger) && !['on_change', 'on_start', 'once'].includes(wordOf(trigger)))
    throw new ArgumentError(
      argument,
      `${argument}: trigger must be on_change, on_start or once, not ${wordOf(trigger)}`,
    );
  return withoutNull({
    name: commandName(name),
    command: command ?? [],
    environment: environment ?? null,
    cwd: isSet(cwd) && cwd !== '' ? cwd : null,
    user: uid ?? null,
    group: gid ?? null,
    timeout: typeof timeout === 'number' ? `${timeout}s` : (timeout ?? null),
    once: trigger === 'once' ? true : null,
    on_start: trigger === 'on_start' ? true : null,
    exit_code: (isSet(fails) ? fails === true : failsByDefault) ? null : 'any',
  });
}

const inInstance = (...names: readonly string[]): ReadonlySet<string> =>
  new Set([...names, 'instance', 'remote', 'project', 'timeouts']);
const texts: Members = { instance: 'text', name: 'text', project: 'text', stateful: 'bool' };

export const snapshot: PartType = {
  partOf: 'snapshots',
  holder: 'instance',
  arguments: inInstance('name', 'stateful'),
  shapes: texts,
  computed: computedOf('created_at', 'creation_date'),
  entry: same('name', 'stateful'),
};

export const file: PartType = {
  partOf: 'files',
  holder: 'instance',
  arguments: inInstance('content', 'source_path', 'target_path', 'uid', 'gid', 'mode', 'create_directories', 'append'),
  computed: computedOf('resource_id'),
  entry: fileEntry,
};
