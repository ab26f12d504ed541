// gantry_container_file: one file, directory or symbolic link in a container that is managed elsewhere.
import { isNotFound } from '../../../server/client/client-error.ts';
import { discard, makeDirectories, readIfThere } from '../../../server/client/files/file-helpers.ts';
import type { Files } from '../../../server/client/files/container-files.ts';
import { hiddenFile, hidingMount } from '../../../server/client/files/hidden-files.ts';
import type { Link } from '../../connection/link.ts';
import { integer, text, type StateOf, serverDefault } from '../../framework/attribute.ts';
import { failure, DiagnosticError } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { ConfigOf, Context } from '../../framework/object-type.ts';
import { isUnknown, unknownValue } from '../../framework/value.ts';
import { absolutePath, fileMode, isSameMode, oneOf } from './container-attributes.ts';
import { removeFile } from './container-file-map.ts';
import { filesIn, readFileSpec, wantedHash, writeFileSpec } from './container-files.ts';
import { gantryResource, notEmpty } from '../shared/common-attributes.ts';
import { performFirst } from '../shared/write.ts';
import { planHolder } from './holder.ts';

const kinds: readonly string[] = ['file', 'directory', 'symlink'];

const attributes = {
  container: text({ doc: 'Name of the container. A renamed container keeps the file.', required: true }),
  path: text({ doc: 'Absolute path in the container.', required: true, replace: true, check: absolutePath }),
  type: text({ doc: '`file`, `directory` or `symlink`.', default: 'file', replace: true, check: oneOf(...kinds) }),
  content: text({ doc: 'file: the content, as text.' }),
  source: text({ doc: 'file: path of a local file with the content.', check: notEmpty }),
  content_wo: text({
    doc: 'file: the content, as text that is never stored: raise `content_wo_version` to write new content. Its hash is not stored either, so plans compare only existence, mode and owner.',
    sensitive: true,
    writeOnly: true,
  }),
  content_wo_version: integer({ doc: 'Any number; a change writes `content_wo` again.' }),
  target: text({ doc: 'symlink: its target.', replace: true, check: notEmpty }),
  mode: text({
    doc: 'Permissions, octal. Default: 0644, or 0755 for a directory.',
    ...serverDefault,
    check: fileMode,
    same: isSameMode,
  }),
  uid: integer({ doc: 'User id of the owner, in the container.', default: 0 }),
  gid: integer({ doc: 'Group id, in the container.', default: 0 }),
  sha256: text({ doc: 'SHA-256 of the content in the container; null with `content_wo`.', computed: true }),
};
type State = StateOf<typeof attributes>;

export const containerFile = gantryResource({
  typeName: 'gantry_container_file',
  doc: 'A file, directory or symbolic link in a container. Each plan compares content, mode and owner. After a replacement of the container the next apply writes it again; with `replace_triggered_by = [gantry_container.web.created_at]` in its `lifecycle` the same apply does.',
  attributes,
  identity: ['container', 'path'],
  importing: {
    doc: '`container/path`, the path with its leading slash. With `,content_wo_version=<number>` at its end the import does not read the content, which counts as written from `content_wo`',
    example: 'web//etc/motd',
    parse(id) {
      const [written = '', version] = /,content_wo_version=([0-9]+)$/.exec(id) ?? [];
      const slash = id.indexOf('/');
      if (slash > 0 && id.startsWith('//', slash)) {
        const found = { container: id.slice(0, slash), path: id.slice(slash + 1, id.length - written.length) };
        return version === undefined ? found : { ...found, content_wo_version: Number(version) };
      }
      const detail = 'It must be container/path, the path with its leading slash: web//etc/motd.';
      throw new DiagnosticError([failure(`The import id ${JSON.stringify(id)} is not understood`, detail)]);
    },
  },
  validate({ type, content, source, target, content_wo, content_wo_version: version }) {
    const kind = type ?? 'file';
    // The type is not known yet, or wrong, which its own check reports.
    if (typeof kind !== 'string' || !kinds.includes(kind)) return [];
    const given = { content, source, content_wo, target };
    const allowed = kind === 'file' ? ['content', 'source', 'content_wo'] : kind === 'symlink' ? ['target'] : [];
    const wrong = (['content', 'source', 'content_wo', 'target'] as const).filter(
      (name) => given[name] !== null && !allowed.includes(name),
    );
    const found = wrong.map((name) =>
      failure(`${name} is not for a ${kind}`, 'Leave it out, or set another type.', at(name)),
    );
    if (version !== null && content_wo === null) {
      const detail = 'content_wo_version needs content_wo, for example from an ephemeral variable.';
      found.push(failure('content_wo is missing', detail, at('content_wo_version')));
    }
    const count = allowed.filter((name) => given[name as keyof typeof given] !== null).length;
    if (kind === 'directory' || count === 1) return found;
    return [
      ...found,
      failure('The content is ambiguous or missing', `Give exactly one of ${allowed.join(', ')}.`, at('type')),
    ];
  },
  async plan(draft) {
    const { config, planned } = draft;
    await planHolder(draft);
    if (config.content_wo !== null) planned.sha256 = null;
    else if (planned.type === 'file') planned.sha256 = (await wantedHash(planned)) ?? unknownValue;
    else if (planned.sha256 === unknownValue && !isUnknown(planned.type)) planned.sha256 = null;
  },
  async read(state, context) {
    const files = filesIn(context, state.container);
    const imported = state.type === null;
    const holder = await context.client.reader.read('container', state.container, context.signal);
    const mount = holder === undefined ? undefined : hidingMount(state.path, holder.object);
    if (mount !== undefined) {
      if (imported) throw hiddenFile(state.container, state.path, mount);
      return {};
    }
    const isWriteOnly = imported ? state.content_wo_version !== null : state.content === null && state.source === null;
    try {
      const entry = await files.read(state.path, context.signal);
      discard(entry);
      const mode = `0${(entry.mode & 0o7777).toString(8).padStart(3, '0')}`;
      const { uid, gid } = entry;
      if (entry.type === 'symlink')
        return { type: 'symlink', target: entry.target, mode: state.mode ?? '0777', uid, gid, sha256: null };
      if (entry.type === 'directory')
        return { type: 'directory', mode: sameMode(state.mode, mode), uid, gid, sha256: null };
      const spec = { content: null, source: null, mode: state.mode, uid: null, gid: null, sha256: null };
      const read = await readFileSpec(files, state.path, spec, context.signal);
      if (read === undefined) return null;
      if (isWriteOnly) return { type: 'file', mode: sameMode(state.mode, mode), uid, gid, sha256: null };
      const content = imported ? { content: await textOf(context, state) } : {};
      return { type: 'file', mode: sameMode(state.mode, mode), uid, gid, sha256: read.sha256, ...content };
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  },
  async create({ planned, config }, context) {
    await performFirst(context, () => write(context, planned, contentOf(planned, config)));
  },
  async update({ planned, config }, prior, context) {
    // Nothing exists under the old name of a renamed container. Otherwise it is another container, which gets the file instead.
    if (planned.container !== prior.container) await removeFile(context, prior.container, prior.path);
    const kept = isWritten(prior, planned, config) ? await keptContent(context, planned) : undefined;
    await write(context, planned, kept ?? contentOf(planned, config));
  },
  delete: (prior, context) => removeFile(context, prior.container, prior.path),
});

const sameMode = (written: string | null, live: string): string =>
  written !== null && isSameMode(written, live) ? written : live;

const maxImportBytes = 1024 * 1024;

type Config = ConfigOf<typeof attributes>;

/** Null when it is no file, or when its content comes from a local file. */
function contentOf(planned: State, { content_wo }: Config): Buffer | null {
  if (planned.type !== 'file' || planned.source !== null) return null;
  const content = planned.content ?? content_wo;
  if (typeof content === 'string') return Buffer.from(content);
  const detail = 'It is null at apply. Pass a value for its variable to the apply as well.';
  throw new DiagnosticError([failure('content_wo is missing', detail, at('content_wo'))]);
}

/** Whether the container already has the content of `content_wo`. A changed value without a new version does not count. */
const isWritten = (prior: State, planned: State, { content_wo }: Config): boolean =>
  content_wo !== null &&
  prior.type === 'file' &&
  prior.content === null &&
  prior.source === null &&
  prior.content_wo_version === planned.content_wo_version;

/** The content in the container, for writing it with another mode or owner; undefined when the file does not exist. */
async function keptContent(context: Context<Link>, { container, path }: State): Promise<Buffer | undefined> {
  const entry = await readIfThere(filesIn(context, container), path, context.signal);
  if (entry?.type !== 'file') {
    if (entry !== undefined) discard(entry);
    return undefined;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of entry.body as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Reads the content, so that a plan after an import shows no difference to a configuration with the same text. */
async function textOf(context: Context<Link>, { container, path }: State): Promise<string | null> {
  const entry = await filesIn(context, container).read(path, context.signal);
  if (entry.type !== 'file') return null;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of entry.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxImportBytes) {
      discard(entry);
      return null;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function write(context: Context<Link>, planned: State, bytes: Buffer | null): Promise<void> {
  const files = filesIn(context, planned.container);
  const { path, type, source, target, mode, uid, gid } = planned;
  const { signal } = context;
  if (type === 'file') {
    await writeFileSpec(files, path, { content: bytes, source, mode, uid, gid }, signal);
    return;
  }
  await makeDirectories(files, path.slice(0, path.lastIndexOf('/')), signal);
  const owner = { uid: uid ?? 0, gid: gid ?? 0 };
  if (type === 'symlink') {
    const link = { target: target ?? '', ...owner };
    await removeOtherOwned(files, path, link, signal);
    await files.makeSymlink(path, link.target, owner, signal);
  } else await files.makeDirectory(path, { ...owner, mode: Number.parseInt(mode ?? '0755', 8) }, signal);
}

/** Servers leave the owner of an equal link as it is. */
async function removeOtherOwned(
  files: Files,
  path: string,
  link: { readonly target: string; readonly uid: number; readonly gid: number },
  signal: AbortSignal,
): Promise<void> {
  const there = await readIfThere(files, path, signal);
  if (there !== undefined) discard(there);
  if (there?.type !== 'symlink' || there.target !== link.target) return;
  if (there.uid !== link.uid || there.gid !== link.gid) await files.delete(path, signal);
}
