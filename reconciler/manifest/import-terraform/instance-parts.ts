// Converts devices, limits, files, commands and waits of an LXD or Incus instance into arguments of gantry_container.
import type { Expression } from '../terraform-json/expression/syntax.ts';
import { fromObject, blocksNamed, keyText, mapText, objectText, type Entry, type BlockForm } from './hcl-text.ts';
import type { Item } from './read-body.ts';
import type { Group } from './rows.ts';
import { UnconvertibleError, literalOf, type Source } from './source.ts';

function needed({ values, at }: BlockForm, name: string, what: string): Expression {
  const value = values.get(name);
  if (value === undefined) throw new UnconvertibleError(at, `${what} has no ${name}`);
  return value;
}

const refuseOthers = (given: BlockForm, known: readonly string[], what: string): void => {
  for (const [name, value] of given.values)
    if (!known.includes(name)) throw new UnconvertibleError(value.start, `${what}: ${name} is not carried over`);
};

export const devices: Group = {
  takes: ['device', 'devices'],
  make: (items, source) =>
    items.every((item) => item.type === 'argument' && item.name === 'devices')
      ? undefined
      : `devices = ${mapText(blocksNamed(items, source), (given) => deviceEntry(given, source))}`,
};

function deviceEntry(given: BlockForm, source: Source): Entry {
  refuseOthers(given, ['name', 'type', 'properties'], 'device');
  const name = source.render(needed(given, 'name', 'device'), given.scope);
  const type = source.render(needed(given, 'type', 'device'), given.scope);
  const properties = given.values.get('properties');
  if (properties === undefined) return [name, `{ type = ${type} }`];
  return [name, withEntry(`type = ${type}`, properties, source.render(properties, given.scope))];
}

/** An object with one more entry in front. */
function withEntry(entry: string, value: Expression, text: string): string {
  if (value.type !== 'object' || !text.startsWith('{')) return `merge({ ${entry} }, ${text})`;
  const inner = text.slice(1);
  const indent = /^\s*\n( *)/.exec(inner)?.[1];
  if (inner.trim() === '}') return `{ ${entry} }`;
  return indent === undefined ? `{ ${entry},${inner}` : `{\n${indent}${entry}${inner}`;
}

export const config: Group = {
  takes: ['config', 'limits'],
  make(items, source) {
    const limits = items.find((item) => item.name === 'limits');
    if (limits === undefined) return undefined;
    if (items.some((item) => item.type === 'block'))
      throw new UnconvertibleError(limits.start, 'limits is written as a block');
    const written = items.find((item) => item.name === 'config');
    return `config = ${configText(written, limits, source)}`;
  },
};

function configText(config: Item | undefined, limits: Item, source: Source): string {
  const base = config?.type === 'argument' ? config.value : undefined;
  const value = limits.type === 'argument' ? limits.value : undefined;
  if (value?.type !== 'object' || value.items.some(({ key }) => key.type !== 'literal'))
    return `merge(${base === undefined ? '{}' : source.render(base)}, { for key, value in ${value === undefined ? '{}' : source.render(value)} : "limits.\${key}" => value })`;
  const entries = [...fromObject(value).values].map(([name, each]): Entry => [
    `"${name.startsWith('limits.') ? name : `limits.${name}`}"`,
    source.render(each),
  ]);
  if (base === undefined) return objectText(entries, 2, true);
  const text = source.render(base);
  if (base.type !== 'object') return `merge(${text}, ${objectText(entries, 2)})`;
  return withEntries(text, entries);
}

/** An object with more entries at its end. */
function withEntries(text: string, entries: readonly Entry[]): string {
  const inner = text.slice(1, -1);
  if (inner.trim() === '') return objectText(entries, 2, true);
  if (inner.includes('\n')) {
    const lines = entries.map(([name, value]) => `    ${name} = ${value}\n`).join('');
    return `{${inner.trimEnd()}\n${lines}  }`;
  }
  const more = entries.map(([name, value]) => `${name} = ${value}`).join(', ');
  return `{ ${inner.trim().replace(/,$/, '')}, ${more} }`;
}

export const files: Group = {
  takes: ['file'],
  make: (items, source) => `files = ${mapText(blocksNamed(items, source), (given) => fileEntry(given, source))}`,
};

/** The default mode of those providers. */
export const fileMode = '"0755"';
const fileNames: Readonly<Record<string, string>> = {
  content: 'content',
  source: 'source',
  source_path: 'source',
  uid: 'uid',
  gid: 'gid',
  mode: 'mode',
};

function fileEntry(given: BlockForm, source: Source): Entry {
  refuseOthers(
    given,
    [...Object.keys(fileNames), 'target_path', 'target_file', 'create_directories', 'append'],
    'file',
  );
  const append = given.values.get('append');
  if (append !== undefined && literalOf(append) !== false)
    throw new UnconvertibleError(append.start, 'file: append is not carried over: files are written as a whole');
  const path = given.values.get('target_path') ?? needed(given, 'target_file', 'file');
  const entries = [...given.values].flatMap(([name, value]): Entry[] => {
    const own = fileNames[name];
    return own === undefined ? [] : [[own, source.render(value, given.scope)]];
  });
  const mode: Entry[] = given.values.has('mode') ? [] : [['mode', fileMode]];
  return [source.render(path, given.scope), objectText([...entries, ...mode], 4)];
}

const commandNames: Readonly<Record<string, string>> = {
  command: 'command',
  environment: 'environment',
  working_dir: 'cwd',
  uid: 'user',
  gid: 'group',
  enabled: 'enabled',
  record_output: 'record_output',
  fail_on_error: 'fail_on_error',
};
const triggers: Readonly<Record<string, string>> = { once: '"create"', on_change: '"change"', on_start: '"start"' };

export const commands: Group = {
  takes: ['exec', 'execs'],
  make(items, source) {
    const named = items.flatMap((item): readonly [string, BlockForm][] => {
      if (item.name !== 'execs') return [];
      if (item.type !== 'argument') throw new UnconvertibleError(item.start, 'execs is written as a block');
      return [...fromObject(item.value).values].map(([name, value]) => [
        keyText(JSON.stringify(name)),
        { ...fromObject(value), scope: {} },
      ]);
    });
    const listed = blocksNamed(
      items.filter(({ name }) => name !== 'execs'),
      source,
    );
    const dynamic = listed.find(({ loop }) => loop !== undefined);
    if (dynamic !== undefined)
      throw new UnconvertibleError(dynamic.at, 'dynamic exec is not carried over: its order would be lost');
    const entries = [
      ...named.map(([name, given]): Entry => [name, commandText(given, source, 'false')]),
      // Commands run in the order of their names.
      ...listed.map((given, at): Entry => [`exec-${String(at).padStart(2, '0')}`, commandText(given, source, 'true')]),
    ];
    return `exec = ${objectText(entries, 2, true)}`;
  },
};

/** The provider for LXD ignores failing commands by default. */
function commandText(given: BlockForm, source: Source, failsByDefault: string): string {
  refuseOthers(given, [...Object.keys(commandNames), 'timeout', 'trigger'], 'exec');
  const render = (value: Expression): string => source.render(value, given.scope);
  const entries = [...given.values].map(([name, value]): Entry => {
    if (name === 'trigger') return ['on', triggerText(value, render(value))];
    if (name === 'timeout')
      return ['timeout', typeof literalOf(value) === 'number' ? `"${render(value)}s"` : render(value)];
    return [commandNames[name] ?? name, render(value)];
  });
  const fails: Entry[] =
    given.values.has('fail_on_error') || failsByDefault === 'true' ? [] : [['fail_on_error', failsByDefault]];
  return objectText([...entries, ...fails], 4, true);
}

function triggerText(value: Expression, text: string): string {
  const known = triggers[String(literalOf(value))];
  if (known !== undefined) return known;
  if (value.type === 'literal') throw new UnconvertibleError(value.start, `exec: trigger ${text} is not carried over`);
  return `lookup({ once = "create", on_change = "change", on_start = "start" }, ${text})`;
}

export const waits: Group = {
  takes: ['wait_for', 'wait_for_network'],
  make(items, source) {
    const old = items.find((item) => item.name === 'wait_for_network');
    const given = blocksNamed(
      items.filter((item) => item !== old),
      source,
    );
    const loop = given.find((each) => each.loop !== undefined);
    if (loop !== undefined) throw new UnconvertibleError(loop.at, 'dynamic wait_for is not carried over');
    const texts = given.flatMap((each) => waitText(each, source));
    if (texts.length > 0) return `wait_for = [${texts.join(', ')}]`;
    if (old?.type !== 'argument' || literalOf(old.value) === false) return '';
    if (literalOf(old.value) === true) return 'wait_for = [{ type = "ipv4" }]';
    return `wait_for = ${source.render(old.value)} ? [{ type = "ipv4" }] : []`;
  },
};

/** Older versions named it so, for the start after the creation only. */
export const running: Group = {
  takes: ['start_container', 'start_on_create'],
  make([item], source) {
    if (item?.type !== 'argument') return undefined;
    source.note(item.start, `${item.name} becomes running, which holds at each apply, not only at the creation`);
    return `running = ${source.render(item.value)}`;
  },
};

function waitText(given: BlockForm, source: Source): readonly string[] {
  refuseOthers(given, ['type', 'nic', 'delay'], 'wait_for');
  const type = needed(given, 'type', 'wait_for');
  const word = literalOf(type);
  if (word === 'agent' || word === 'ready') {
    const same = 'is left out: a container runs its processes as soon as it runs';
    source.note(given.at, `wait_for of type ${word} ${same}`);
    return [];
  }
  if (typeof word !== 'string' || !['ipv4', 'ipv6', 'delay', 'cloud-init'].includes(word))
    throw new UnconvertibleError(type.start, `wait_for of type ${source.render(type)} is not carried over`);
  return [
    objectText(
      [...given.values].map(([name, value]): Entry => [name, source.render(value)]),
      2,
    ),
  ];
}

/** Those providers take time limits as a block or an argument; ours takes an argument. */
export const timeouts: Group = {
  takes: ['timeouts'],
  make: ([item], source) =>
    item?.type === 'block'
      ? `timeouts = ${objectText(
          [...(blocksNamed([item], source)[0]?.values ?? [])].map(([name, value]): Entry => [
            name,
            source.render(value),
          ]),
          2,
        )}`
      : undefined,
};
