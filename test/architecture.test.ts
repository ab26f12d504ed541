// The mechanical reviewer: who may import whom, how long files may get, and what the pure rooms must not touch.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { deviceSchemas } from '../server/api/devices/index.ts';
import { endpoints } from '../server/api/endpoints/endpoint-table.ts';
import { rules } from './support/import-rules.ts';
import { longFiles } from './support/long-files.ts';

const root = resolve(import.meta.dirname, '..');

interface Source {
  /** Path from the repository root. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

interface Import {
  /** Path from the root for own files, else the package name or node:… */
  readonly target: string;
  readonly isOwn: boolean;
  readonly typeOnly: boolean;
}

function sources(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !/\/node_modules\/|^provider\/bindings\/cdkt(?:f|n\/generated)\//.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return { path, text, imports: importsOf(path, text) };
    });
}

function importsOf(path: string, text: string): Import[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+['"]([^'"]+)['"]/gms),
    ...text.matchAll(/^import\s+()['"]([^'"]+)['"]/gm),
    ...text.matchAll(/\bimport\(()['"]([^'"]+)['"]\)/g),
  ];
  return found.map((match) => {
    const specifier = match[2] ?? '';
    const isOwn = specifier.startsWith('.');
    const target = isOwn ? relative(root, join(root, dirname(path), specifier)) : specifier;
    return { target, isOwn, typeOnly: match[1] !== undefined };
  });
}

const all = ['docs', 'server', 'reconciler', 'provider', 'packaging'].flatMap(sources);

describe('layers', () => {
  test.each(rules)('$from imports only what its room may: $why', ({ from, own, packages }) => {
    const broken = all
      .filter((source) => from.test(source.path))
      .flatMap((source) =>
        source.imports
          .filter((used) => !(used.isOwn ? own : packages).test(used.target))
          .map((used) => `${source.path} imports ${used.target}`),
      );
    expect(broken).toEqual([]);
  });

  test('every file of server, reconciler and provider belongs to a room or is an edge', () => {
    const edges =
      /^(server\/daemon\/(?:(?:compose|stores|cluster)\/)?[^/]+|provider\/main|server\/drivers\/[^/]+)\.ts$/;
    const homeless = all
      .map((source) => source.path)
      .filter((path) => !edges.test(path) && !rules.some((rule) => rule.from.test(path)));
    expect(homeless).toEqual([]);
  });

  test('every file of server is imported by another one, or is an entry of package.json', () => {
    const entries = readFileSync(join(root, 'package.json'), 'utf8');
    const used = new Set(all.flatMap(({ imports }) => imports.map(({ target }) => target)));
    const unused = all
      .map(({ path }) => path)
      .filter((path) => path.startsWith('server/') && !used.has(path) && !entries.includes(path));
    expect(unused).toEqual([]);
  });

  test('the rule check itself notices a broken rule', () => {
    const [imported] = importsOf('server/api/x.ts', "import { readFile } from 'node:fs';");
    expect(imported).toEqual({ target: 'node:fs', isOwn: false, typeOnly: false });
    expect(rules[0]?.packages.test('node:fs')).toBe(false);
    expect(importsOf('server/http/x.ts', "import type { Store } from '../store/store.ts';")[0]?.target).toBe(
      'server/store/store.ts',
    );
  });
});

describe('the use cases', () => {
  /** From the lowest up; server/services/README.md draws them. */
  const floors = [
    'shared',
    'warnings',
    'networks',
    'limits',
    'storage',
    'images',
    'containers',
    'profiles',
    'projects',
    'transfer',
    'cluster',
    'recovery',
    'server',
  ];
  const floorOf = (path: string): number => floors.indexOf(/^server\/services\/([^/]+)\//.exec(path)?.[1] ?? '');
  const services = all.filter(({ path }) => path.startsWith('server/services/'));

  test('a room of server/services imports only rooms below its own', () => {
    const upward = services.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('server/services/') && floorOf(target) > floorOf(path))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(upward).toEqual([]);
  });

  test('every file of server/services lies in a room that has a floor', () => {
    expect(services.map(({ path }) => path).filter((path) => floorOf(path) < 0)).toEqual([]);
  });
});

describe('the page', () => {
  test('takes types only of what is not its own: nothing of the controller gets into the bundle', () => {
    const values = all
      .filter(({ path }) => path.startsWith('reconciler/web/'))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ isOwn, typeOnly, target }) => isOwn && !typeOnly && !target.startsWith('reconciler/web/'))
          .map(({ target }) => `${path} imports ${target}`),
      );
    expect(values).toEqual([]);
  });
});

describe('the edge', () => {
  const edge = all.filter(({ path }) => path.startsWith('server/http/'));
  const ids = new Set<string>(endpoints.map(({ id }) => id));

  test('names no endpoint by its id, but in tables of handlers: the row says what is special about one', () => {
    const literals = edge
      .filter(({ path }) => !/^server\/http\/(routes|dialects)\//.test(path))
      .flatMap(({ path, text }) => [...text.matchAll(/'([\w.]+)'/g)].map((match) => `${path}: ${match[1]}`));
    expect(literals.filter((literal) => ids.has(literal.split(': ')[1] ?? ''))).toEqual([]);
  });

  test('compares no id of an endpoint with a literal', () => {
    const compared = edge.filter(({ text }) => /\bid [!=]== '/.test(text)).map(({ path }) => path);
    expect(compared).toEqual([]);
  });
});

describe('the routes', () => {
  test('have no casts: the endpoint table gives bodies, query and path parameters their types', () => {
    const casts = all
      .filter(({ path }) => path.startsWith('server/http/routes/'))
      .flatMap(({ path, text }) =>
        codeOnly(text)
          .split('\n')
          .filter((line) => /\bas (?!const\b)[\w{[]/.test(line))
          .map((line) => `${path}: ${line.trim()}`),
      );
    expect(casts).toEqual([]);
  });
});

/** Rings of a graph: each as its nodes, sorted. */
function ringsOf(graph: ReadonlyMap<string, Iterable<string>>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const rings: string[][] = [];
  const visit = (node: string): void => {
    order.set(node, order.size);
    lowest.set(node, order.size - 1);
    open.push(node);
    for (const target of graph.get(node) ?? []) {
      if (!graph.has(target)) continue;
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lowest.set(node, Math.min(lowest.get(node) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(node) !== order.get(node)) return;
    const ring = open.splice(open.indexOf(node));
    if (ring.length > 1) rings.push(ring.sort());
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return rings;
}

const importsOfFiles = (files: readonly Source[]): Map<string, string[]> =>
  new Map(files.map(({ path, imports }) => [path, imports.filter((i) => i.isOwn).map((i) => i.target)]));

/** For each folder, which of the folders in it import which others in it. */
function graphsOfFolders(files: readonly Source[]): Map<string, Map<string, Set<string>>> {
  const graphs = new Map<string, Map<string, Set<string>>>();
  const targetsOf = (folder: string, child: string): Set<string> => {
    const graph = graphs.get(folder) ?? new Map<string, Set<string>>();
    const targets = graph.get(child) ?? new Set<string>();
    graphs.set(folder, graph.set(child, targets));
    return targets;
  };
  for (const [path, targets] of importsOfFiles(files))
    for (const target of targets) {
      const [from, to] = [dirname(path).split('/'), dirname(target).split('/')];
      const shared = from.findIndex((name, at) => name !== to[at]);
      if (shared < 0 || to[shared] === undefined) continue;
      const folder = from.slice(0, shared).join('/');
      targetsOf(folder, from[shared] ?? '').add(to[shared]);
      targetsOf(folder, to[shared]);
    }
  return graphs;
}

const ringsOfFolders = (files: readonly Source[]): string[] =>
  [...graphsOfFolders(files)]
    .flatMap(([folder, graph]) => ringsOf(graph).map((ring) => `${folder}: ${ring.join(' ')}`))
    .sort();

describe('rings', () => {
  const file = (path: string, target: string): Source => ({
    path,
    text: '',
    imports: [{ target, isOwn: true, typeOnly: true }],
  });

  test('no files import each other in a ring, not even for types', () => {
    expect(ringsOf(importsOfFiles(all)).map((ring) => ring.join(', '))).toEqual([]);
  });

  test('no folders import each other in a ring at any level', () => {
    expect(ringsOfFolders(all)).toEqual([]);
  });

  test('the check notices a ring of files', () => {
    const files = [file('a.ts', 'b.ts'), file('b.ts', 'c.ts'), file('c.ts', 'b.ts')];
    expect(ringsOf(importsOfFiles(files))).toEqual([['b.ts', 'c.ts']]);
  });

  test('the check notices a ring of folders, and no ring between a folder and the one it is in', () => {
    const ring = [file('x/a/deep/1.ts', 'x/b/2.ts'), file('x/b/3.ts', 'x/c/4.ts'), file('x/c/4.ts', 'x/a/5.ts')];
    expect(ringsOfFolders(ring)).toEqual(['x: a b c']);
    expect(ringsOfFolders([file('x/a/1.ts', 'x/2.ts'), file('x/2.ts', 'x/a/1.ts')])).toEqual([]);
  });
});

/** Texts of other programs and releases, which have no code to compare. */
const foreignMessages = [
  'provider/resources/container/backup-file.ts', // The error of an operation of the server has a text only.
  'reconciler/manifest/text/yaml-problems.ts', // The YAML parser tells quotes from brackets in its text only.
  'server/membership/etcd/etcd-log.ts', // Lines of etcd's log.
];

/** Texts that are shown, and neither repeated nor joined into a second sentence. */
const shownMessages = [
  'provider/framework/validate.ts',
  'reconciler/controller/decide/plan-around.ts',
  'reconciler/engine/failure.ts',
  'reconciler/engine/steps/push-files.ts',
  'reconciler/manifest/documents/document-rules.ts',
];

describe('errors', () => {
  test('are told apart by class and code, never by the text of their message', () => {
    const compares =
      /\bmessage\.(?:includes|startsWith|endsWith|match|search|indexOf)\(|\.(?:test|exec)\([\w.]*\bmessage\)|\b(?:error|reason|cause)\w*\.message [!=]==|[!=]== \w*(?:error|reason|cause)\w*\.message\b/i;
    const comparing = all
      .filter(({ text }) => compares.test(text))
      .map(({ path }) => path)
      .sort();
    expect(comparing).toEqual([...foreignMessages, ...shownMessages].sort());
  });
});

describe('device types', () => {
  test('are told apart in the rooms of devices only: everyone else asks a schema or a handler', () => {
    const types = Object.keys(deviceSchemas).join('|');
    const compares = new RegExp(`(?:\\['type'\\]|(?<!\\.)\\btype) [!=]== '(?:${types})'`);
    const elsewhere = all.filter(
      ({ path }) => path.startsWith('server/') && !/^server\/(api|drivers)\/devices\//.test(path),
    );
    expect(elsewhere.filter(({ text }) => compares.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe('facts of processes', () => {
  test('come from one reader of /proc/PID/stat', () => {
    const readers = all.filter(({ text }) => /\/stat['`]/.test(text)).map(({ path }) => path);
    expect(readers).toEqual(['server/lib/shared/processes.ts']);
  });
});

describe('folders that a user names', () => {
  test('come from makeFolder: mkdir with recursive never ends below /proc', () => {
    const recursive = all.filter(
      ({ path, text }) =>
        /^(reconciler\/|provider\/packaging\/install)/.test(path) && /mkdir(?:Sync)?\([^;]*recursive/.test(text),
    );
    expect(recursive.map(({ path }) => path)).toEqual([]);
  });
});

describe('the pure core', () => {
  const pure = all.filter(({ path }) => /^(reconciler\/core|server\/api)\//.test(path));

  test('has no clock, no randomness, no console and no asynchronous work', () => {
    const forbidden =
      /\b(Date\.now|new Date\(\)|Math\.random|console\.|process\.|setTimeout)\b|^\s*(export )?async |\bawait /m;
    const broken = pure.filter(({ text }) => forbidden.test(codeOnly(text))).map(({ path }) => path);
    expect(broken).toEqual([]);
  });
});

describe('files', () => {
  test('start with a sentence that says what they are responsible for', () => {
    const silent = all.filter(({ text }) => !/^(#!.*\n)?\/\/ \S/.test(text)).map(({ path }) => path);
    expect(silent).toEqual([]);
  });

  test('stay below 450 lines: past that a file is two rooms in one', () => {
    const long = all
      .filter(({ text }) => text.split('\n').length > 450)
      .map(({ path, text }) => `${path}: ${text.split('\n').length}`);
    expect(long).toEqual([]);
  });

  test('files of tests that are listed as long exist', () => {
    expect(longFiles.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('a folder holds at most 25 files', () => {
    const folders = ['server', 'reconciler', 'provider', 'packaging', 'docs', 'examples', 'test'].flatMap(foldersBelow);
    const full = folders
      .map((folder) => ({ folder, files: filesIn(folder).length }))
      .filter(({ folder, files }) => files > 25 && !/^test\/(golden|fixtures)\b|\/generated\b/.test(folder))
      .map(({ folder, files }) => `${folder}: ${files}`);
    expect(full).toEqual([]);
  });

  test('the root listing is the architecture', () => {
    const visible = readdirSync(root).filter(
      (name) => !name.startsWith('.') && name !== 'node_modules' && name !== 'dist',
    );
    expect(visible.sort()).toEqual(
      [
        'CHANGELOG.md',
        'CONTRIBUTING.md',
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'docs',
        'examples',
        'package-lock.json',
        'package.json',
        'packaging',
        'provider',
        'reconciler',
        'server',
        'test',
        'tsconfig.json',
      ].sort(),
    );
  });
});

const entriesOf = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true }).filter(({ name }) => name !== 'node_modules');

const filesIn = (folder: string): string[] =>
  entriesOf(folder)
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

const foldersBelow = (folder: string): string[] => [
  folder,
  ...entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => foldersBelow(`${folder}/${name}`)),
];

/** The code: no comments, no text of literals. */
function codeOnly(text: string): string {
  const uncommented = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
  return uncommented.replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
}
