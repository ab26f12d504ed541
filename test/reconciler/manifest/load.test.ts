// Loading manifests: accepted forms, and messages for mistakes.
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { renderDiagnostics } from '../../../reconciler/core/render/render-diagnostics.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { validateDocuments } from '../../../reconciler/core/graph/check-documents.ts';
import { masked } from '../../../reconciler/manifest/text/locate-diagnostics.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import type { Loaded, LoadInput } from '../../../reconciler/manifest/load-contract.ts';
import { expectGolden } from '../../support/golden.ts';
import { world, liveProfile } from '../../support/fakes/worlds.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder = '';
beforeEach(() => void (folder = tempFolder('manifests-')));

const put = (name: string, text: string | Uint8Array): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const load = (text: string, more: Partial<LoadInput> = {}): Promise<Loaded> =>
  loadManifests({ paths: ['-'], stdin: text, ...more });
const problems = (loaded: Loaded): readonly string[] =>
  loaded.diagnostics.map(({ code, line, column, message }) => `${line}:${column} ${code}: ${message}`);
const first = async (text: string, more: Partial<LoadInput> = {}) => {
  const loaded = await load(text, more);
  expect(problems(loaded)).toEqual([]);
  return loaded.documents[0]!;
};

describe('other files in a folder', () => {
  const compose = 'services:\n  web:\n    image: nginx\n';

  test('a folder is read without files for --var-file, and without the compose file that its manifests were imported from', async () => {
    put('compose.yaml', compose);
    put('docker-compose.override.yml', compose);
    const alone = await loadManifests({ paths: [folder] });
    expect(problems(alone).join()).toMatch(/holds no manifest beside .*gantry import compose .* writes one/);
    put('stack.yaml', 'kind: profile\nname: web\n');
    put('prod.vars.yaml', 'SIZE: 2\n');
    const both = await loadManifests({ paths: [folder] });
    expect([problems(both), both.documents.length]).toEqual([[], 1]);
  });

  test('a manifest of that name is read, and a compose file that is named is refused with the verb for it', async () => {
    put('compose.yaml', 'kind: profile\nname: web\n');
    expect((await loadManifests({ paths: [folder] })).documents).toHaveLength(1);
    const named = await loadManifests({ paths: [put('docker-compose.yml', compose)] });
    expect(problems(named).join()).toContain('it looks like a compose file');
    expect(JSON.stringify(named.diagnostics)).toContain('gantry import compose FILE');
  });
});

describe('values', () => {
  test('numbers and booleans become the text they are written as', async () => {
    const { values } = await first(`
kind: container
name: c
config: { limits.cpu: 2, security.nesting: true, user.mode: 0660, user.version: 1.10, user.null: ~ }
ephemeral: no
`);
    const config = '{ security.nesting: true, user.mode: 0660 }';
    const documents = [await first(`kind: container\nname: c\nsource: {type: none}\nconfig: ${config}`)];
    const plan = planChanges({ documents, observed: world({ profiles: [liveProfile('default')] }) });
    expect(values['config']).toMatchObject({
      'limits.cpu': '2',
      'user.mode': '0660',
      'user.version': '1.10',
      'user.null': null,
    });
    expect(values['ephemeral']).toBe(false);
    expect(plan.steps[0]).toMatchObject({ body: { config: { 'security.nesting': 'true', 'user.mode': '0660' } } });
  });

  test('an empty list of profiles is kept, null means omitted, and a container may be declared stopped', async () => {
    const loaded = await load(
      'kind: container\nname: a\nprofiles: []\nstate: stopped\n---\nkind: container\nname: b\nprofiles: null\n',
    );
    expect(loaded.documents.map(({ values, state }) => [values['profiles'], state])).toEqual([
      [[], 'stopped'],
      [undefined, undefined],
    ]);
  });

  test('manage has defaults, and times with units', async () => {
    const { manage } = await first(`
kind: container
name: c
manage:
  disruption: recreate
  protect: true
  mode: merge
  depends_on: [network/web0]
  timeout: 2m
  wait: [running, { ipv4: eth0, timeout: 1500ms }, { ipv4: true }]
`);
    expect(manage).toEqual({
      mode: 'merge',
      image: 'none',
      onDelete: 'delete',
      disruption: 'recreate',
      protect: true,
      ignore: [],
      power: 'managed',
      dependsOn: ['network/web0'],
      timeoutMs: 120_000,
      wait: [
        { type: 'running', timeoutMs: 60_000 },
        { type: 'ipv4', nic: 'eth0', timeoutMs: 1500 },
        { type: 'ipv4', timeoutMs: 60_000 },
      ],
    });
  });

  test('a container may be waited for in several ways', async () => {
    const waits = async (list: string): Promise<unknown> =>
      (await first(`kind: container\nname: c\nmanage: { wait: ${list} }\n`)).manage.wait;
    const timeoutMs = 60_000;
    const timed = '{ cloud_init: true, timeout: 1h30m }, { ipv4: true, timeout: 1d }';
    expect(await waits(`[ipv6, { ipv6: eth0 }, cloud_init, ${timed}]`)).toEqual([
      { type: 'ipv6', timeoutMs },
      { type: 'ipv6', nic: 'eth0', timeoutMs },
      { type: 'cloud-init', timeoutMs },
      { type: 'cloud-init', timeoutMs: 5_400_000 },
      { type: 'ipv4', timeoutMs: 86_400_000 },
    ]);
    expect(await waits('[{ exec: [sleep, 5] }, { file: /run/ready }]')).toEqual([
      { type: 'exec', command: ['sleep', '5'], timeoutMs },
      { type: 'file', path: '/run/ready', timeoutMs },
    ]);
    expect(await waits('[{ tcp: 80 }, { tcp: "10.0.0.9:8080" }, { tcp: "[fd00::1]:22" }]')).toEqual([
      { type: 'tcp', port: 80, timeoutMs },
      { type: 'tcp', host: '10.0.0.9', port: 8080, timeoutMs },
      { type: 'tcp', host: 'fd00::1', port: 22, timeoutMs },
    ]);
  });

  test.each([
    ['{ tcp: 0 }', 'bad-value: manage.wait.0.tcp must have a port from 1 to 65535, is 0'],
    ['{ tcp: "host:70000" }', 'bad-value: manage.wait.0.tcp must have a port from 1 to 65535, is host:70000'],
    ['{ tcp: web }', expect.stringMatching(/wrong-type: manage.wait.0.tcp must /)],
    ['{ exec: [] }', 'wrong-type: manage.wait.0.exec must have at least 1 elements, has 0'],
    ['{ exec: true }', 'wrong-type: manage.wait.0.exec must be a list, is true'],
    ['{ file: run/ready }', 'wrong-type: manage.wait.0.file must match ^/, is "run/ready"'],
    ['{ ipv5: eth0 }', 'unknown-key: manage.wait.0.ipv5 is not a key of this kind (did you mean ipv4?)'],
    ['{ exc: [a] }', 'unknown-key: manage.wait.0.exc is not a key of this kind (did you mean exec?)'],
    [
      '{ ipv4: true, tcp: 80 }',
      'bad-value: manage.wait.0 must name one of running, ipv4, ipv6, exec, tcp, file, cloud_init, names ipv4 and tcp',
    ],
    ['{ timeout: 5 }', expect.stringMatching(/names nothing$/)],
  ])('a wait for %s is refused at its place', async (item, problem) => {
    const loaded = await load(`kind: container\nname: c\nmanage:\n  wait:\n    - ${item}\n`);
    expect(problems(loaded).map((one) => one.replace(/^5:\d+ /, ''))).toEqual([problem]);
  });

  test('the envelope of Kubernetes tools is the same document', async () => {
    const flat = await first('kind: profile\nname: p\nconfig: {user.a: "1"}\n');
    const text = 'apiVersion: v1\nkind: profile\nmetadata: {name: p}\nspec: {config: {user.a: "1"}}\n';
    expect({ ...(await first(text)), location: flat.location }).toEqual(flat);
    const wrong = await load('apiVersion: v1\nkind: profile\nmetadata: {name: p}\nspec:\n  confg: {}\n');
    expect(problems(wrong)).toEqual(['5:3 unknown-key: confg is not a key of this kind (did you mean config?)']);
  });

  test('anchors and merge keys work, own keys win', async () => {
    const text = 'kind: profile\nname: p\nconfig: &base {user.a: "1", user.b: "1"}\ndevices: {}\n---\n';
    const merged = 'kind: profile\nname: q\nconfig:\n  user.b: "2"\n  <<: {user.a: "1", user.b: "1"}\n';
    const loaded = await load(text + merged);
    expect(problems(loaded)).toEqual([]);
    expect(loaded.documents[1]?.values['config']).toEqual({ 'user.b': '2', 'user.a': '1' });
  });
});

describe('variables', () => {
  const vars = 'kind: vars\nvars: {MEM: 512MiB, ON: true, EMPTY: }\n---\n';
  const config = async (line: string, more: Partial<LoadInput> = {}): Promise<unknown> =>
    (await load(`${vars}kind: profile\nname: p\nconfig:\n  user.a: ${line}\n`, more)).documents[0]?.values['config'];

  test.each([
    ['$MEM', '512MiB'],
    ['x-${MEM}-y', 'x-512MiB-y'],
    ['"${EMPTY:-deflt}"', 'deflt'],
    ['$$MEM', '$MEM'],
    ['$PATH and ${HOME:-x} and $$', '$PATH and ${HOME:-x} and $$'],
    ['$ON', true],
  ])('%s becomes %s', async (line, expected) => {
    expect(await config(line)).toEqual({ 'user.a': expected });
  });

  test('the command line overrides and declares', async () => {
    expect(await config('$MEM $NEW', { vars: { MEM: '1GiB', NEW: 'n' } })).toEqual({ 'user.a': '1GiB n' });
  });

  test('a variable without a value, and one declared twice, are errors', async () => {
    const loaded = await load(
      `${vars}kind: profile\nname: p\nconfig: {user.a: $EMPTY}\n---\nkind: vars\nvars: {MEM: 1}\n`,
    );
    expect(problems(loaded)).toEqual([
      '6:18 empty-variable: the variable EMPTY has no value',
      '9:8 duplicate: the variable MEM is declared twice',
    ]);
    expect(loaded.diagnostics[1]?.related).toMatchObject([{ line: 2, column: 8 }]);
  });
});

describe('images', () => {
  test('the fingerprint is that of the file, or of metadata and root file system one after the other', async () => {
    put('u.tar', 'unified');
    put('m.tar', 'meta');
    put('r.tar', 'root');
    const path = put(
      'i.yaml',
      'kind: image\nname: u\nfile: u.tar\n---\nkind: image\nname: s\nmetadata: m.tar\nrootfs: ./r.tar\n',
    );
    const loaded = await loadManifests({ paths: [path] });
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    expect(loaded.documents.map((document) => document.files)).toEqual([
      { parts: { file: join(folder, 'u.tar') }, fingerprint: sha('unified'), sizeBytes: 7 },
      {
        parts: { metadata: join(folder, 'm.tar'), rootfs: join(folder, 'r.tar') },
        fingerprint: sha('metaroot'),
        sizeBytes: 8,
      },
    ]);
    const unread = await loadManifests({ paths: [path], readImages: false });
    expect(unread.documents[0]?.files?.fingerprint).toBeUndefined();
  });

  test('a missing file is reported with the nearest name', async () => {
    put('image.tar', 'x');
    const loaded = await loadManifests({ paths: [put('i.yaml', 'kind: image\nname: u\nfile: imgae.tar\n')] });
    expect(problems(loaded)).toEqual([
      `3:7 file-not-found: ${folder}/imgae.tar does not exist (did you mean image.tar?)`,
    ]);
  });
});

describe('files', () => {
  test('a directory gives its YAML files in order, without subdirectories', async () => {
    put('b.yaml', 'kind: profile\nname: b\n');
    put('a.yml', 'kind: profile\nname: a\n');
    put('c.txt', 'kind: profile\nname: c\n');
    mkdirSync(join(folder, 'sub'));
    const loaded = await loadManifests({ paths: [folder] });
    expect(loaded.documents.map((document) => document.name)).toEqual(['a', 'b']);
    expect(loaded.files).toEqual([join(folder, 'a.yml'), join(folder, 'b.yaml')]);
  });

  test('an unreadable file is a diagnostic among the others', async () => {
    put('bad.yaml', new Uint8Array([0xff, 0xfe, 0x00]));
    put('web.yaml', 'kind: profile\nname: b\n');
    mkdirSync(join(folder, 'empty'));
    symlinkSync('gone.yaml', join(folder, 'link.yaml'));
    const paths = ['bad.yaml', 'wbe.yaml', 'web.yaml/x', 'empty', 'link.yaml'].map((name) => join(folder, name));
    const messages = (await loadManifests({ paths })).diagnostics.map((one) => one.message.replaceAll(folder, '.'));
    expect(messages.sort()).toEqual([
      './bad.yaml is not UTF-8 text (see line 1): save it in this encoding',
      './empty holds no *.yaml, *.yml or *.tf.json file; gantry export writes manifests of what a server has',
      './link.yaml is a link to gone.yaml, which does not exist',
      './wbe.yaml does not exist (did you mean web.yaml?)',
      './web.yaml/x does not exist: a part of its path is a file',
    ]);
    const { diagnostics } = await loadManifests({ paths: ['/proc/self/mem'] });
    expect(diagnostics[0]?.message).toMatch(/^\/proc\/self\/mem cannot be read \(EIO/);
  });

  test('a file larger than the limit is refused before it is read', async () => {
    const loaded = await loadManifests({ paths: [put('huge.yaml', 'a'.repeat(33 * 1024 * 1024))] });
    expect(loaded.diagnostics[0]?.message).toContain('a manifest may have 33554432');
  });
});

describe('hostile texts', () => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefghi'
      .split('')
      .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`),
  ].join('\n');

  test.each([
    ['an alias bomb', `kind: profile\nname: p\n${bomb}\n`, 'too-many-aliases'],
    [
      'an alias of itself',
      'kind: profile\nname: p\nconfig: &a {user.a: *a}\n',
      'too-many-aliases|too-deep|malformed-yaml',
    ],
    [
      'deep nesting',
      `kind: profile\nname: p\nconfig: ${'['.repeat(5000)}${']'.repeat(5000)}\n`,
      'too-deep|malformed-yaml',
    ],
    ['a list as key', 'kind: profile\nname: p\n? [a]\n: b\n', 'non-string-key'],
    ['a null key', 'kind: profile\nname: p\n~: b\n', 'non-string-key'],
    ['an unknown alias', 'kind: profile\nname: p\nconfig: *nope\n', 'malformed-yaml'],
    ['a prototype key', 'kind: profile\nname: p\n__proto__: {polluted: true}\n', 'unknown-key'],
    ['a kind from the prototype', 'kind: constructor\nname: p\n', 'unknown-kind'],
    ['a list', '- kind: profile\n', 'not-a-document'],
    ['a scalar', 'hello\n', 'not-a-document'],
  ])('%s is a diagnostic', async (_, text, codes) => {
    const loaded = await load(text);
    expect(loaded.documents).toEqual([]);
    expect(loaded.diagnostics.length).toBeGreaterThan(0);
    expect(loaded.diagnostics[0]?.code).toMatch(new RegExp(`^(${codes})$`));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('an empty text and empty documents declare nothing', async () => {
    for (const text of ['', '---\n---\n', '# only a comment\n']) {
      const loaded = await load(text);
      expect([loaded.documents, loaded.diagnostics]).toEqual([[], []]);
    }
  });
});

test('scalars of texts keep their spelling: TRUE is stored as it is written, and true may be a description', async () => {
  const text =
    'kind: profile\nname: p\ndescription: true\nconfig: { security.nesting: TRUE, user.b: true }\ndevices: { d: { type: disk, path: /d, source: /d, readonly: True } }\n';
  const [profile] = (await load(text)).documents;
  expect(profile?.values).toMatchObject({
    description: 'true',
    config: { 'security.nesting': 'TRUE', 'user.b': true },
    devices: { d: { readonly: 'True' } },
  });
  const flags = await load(
    'kind: container\nname: c\nephemeral: TRUE\nmanage: { protect: TRUE }\nsource: { type: none }\n',
  );
  expect(flags.documents[0]).toMatchObject({ values: { ephemeral: true }, manage: { protect: true } });
});

test.each([
  ['config: { user.gantry.own.default: x }', 'error reserved-key config.user.gantry.own.default'],
  ['config: { user.gantry.label.app: web }', undefined],
  ['manage: { ignore: [user.a] }', 'error unknown-path manage.ignore.0: (did you mean config.user.a?)'],
  [
    'manage: { ignore: [limits.memory, config.user.a, "conf*"] }',
    'error unknown-path manage.ignore.0: (did you mean config.limits.memory?)',
  ],
  ['manage: { ignore: [{ path: devcies.eth0 }] }', 'error unknown-path manage.ignore.0: (did you mean devices?)'],
  ['manage: { ignore: [description, devices.eth0, "config.user.*"] }', undefined],
  ['devices: { p: { type: proxy, bind: instance, listen: "tcp:0.0.0.0:80", connect: "tcp:127.0.0.1:80" } }', undefined],
  [
    'devices: { p: { type: proxy, bind: outside, listen: "tcp:0.0.0.0:80", connect: "tcp:127.0.0.1:80" } }',
    'error bad-value devices.p.bind',
  ],
])('a profile with %s is reported as %s', async (line, expected) => {
  const { diagnostics } = await load(`kind: profile\nname: p\n${line}\n`);
  const told = diagnostics.map(
    ({ severity, code, path, message }) =>
      `${severity} ${code} ${path}${/did you mean/.test(message) ? `: ${/\(.*\)/.exec(message)?.[0]}` : ''}`,
  );
  expect(told).toEqual(expected === undefined ? [] : [expected]);
});

test('undeclared variables are errors if close to a declared one, and warnings elsewhere and in scripts', async () => {
  const text = `kind: vars
vars: { NAME: x, OTHER: y }
---
kind: profile
name: "p-$NAEM"
description: costs $FIVE, $FIVE, $$PAID
config:
  user.a: "\${OTHER} $UNKNOWN"
  user.user-data: "echo $HOME \${OTHR}"
  user.lines: "a\\n$LINES"
`;
  const { diagnostics } = await load(text);
  expect(
    diagnostics.map(({ severity, path, message, line }) => `${severity} ${line} ${path}: ${message.split(':')[0]}`),
  ).toEqual([
    'error 5 name: there is no variable NAEM (did you mean NAME?)',
    'warning 6 description: there is no variable FIVE',
    'warning 8 config.user.a: there is no variable UNKNOWN',
    'warning 9 config.user.user-data: there is no variable OTHR (did you mean OTHER?)',
  ]);
});

test.each([
  ['ipv4.address: null', 'config.ipv4.address'],
  ['ipv6.address: ""', 'config.ipv6.address'],
  ['ipv4.nat: null', undefined],
  ['ipv4.address: auto, ipv4.nat: ""', 'config.ipv4.nat'],
  ['ipv4.address: 10.1.1.1/24, ipv4.nat: null', undefined],
  ['ipv4.address: none, ipv6.address: auto', undefined],
])('a network with %s, which the server would fill in, is refused at %s', async (line, path) => {
  const { diagnostics } = await load(`kind: network\nname: n1br\nconfig: { ${line} }\n`);
  expect(diagnostics.map((one) => one.path)).toEqual(path === undefined ? [] : [path]);
});

describe('messages to people', () => {
  const many = `kind: contaner
name: x
---
kind: container
name: a/b
nam: y
profiles: web
config:
  limits.memry: 5
  limits.memory: lots
  environment.DB_PASSWORD: "hunter2"
devices:
  eth0: {type: nic, nictype: bridged, parnet: web0, parent: wb0}
  root: {type: dsk, path: /}
manage: { protct: true, wave: 3, disruption: maybe, depends_on: [web1, contaner/x], timeout: 5x }
files: []
---
kind: network
name: web0
config: {ipv4.address: 10.0.0.1, ipv4.nat: maybe}
---
kind: storage_pool
name: fast
driver: zsf
---
kind: profile
name: dup
---
kind: profile
name: dup
---
kind: profile
name: tabs
devices:
	eth0: {type: nic}
---
kind: profile
name: q
config: {user.a: 1}
config: {user.a: 2}
---
{resource: {}}
---
profiles: [{name: default}]
---
kind: image
name: i
---
kind: container
name: web1
profiles: [tabs, wbe]
source: {type: imag, alias: x}
manage: { depends_on: [web1, contaner/x], mode: exactly, wait: [{delay: 5}, ipv5] }
labels: {a: b}
---
kind: container
name: c1
source: {type: image, alias: debain/12}
manage: { depends_on: [container/c2, container/c3] }
---
kind: container
name: c2
devices: {eth0: {type: nic, nictype: bridged, parent: web1}}
manage: { depends_on: [container/c1] }
---
kind: image_alias
name: debian/12
target: 0123456789ab
`;

  test('all problems at once, each with its place and the nearest word', async () => {
    const loaded = await load(many);
    const offline = validateDocuments(loaded.documents, loaded.broken).map(loaded.locate);
    const text = renderDiagnostics([...loaded.diagnostics, ...offline], { color: false });
    expect(text).not.toContain('hunter2');
    expectGolden('plan/diagnostics.txt', text);
  });

  test('a line with a secret is shown without it', async () => {
    const loaded = await load('kind: profile\nname: p\nconfig: {environment.DB_PASSWORD: hunter2, limits.memry: 1}\n');
    const text = renderDiagnostics(loaded.diagnostics, { color: false });
    expect(text).toContain('(did you mean limits.memory?)');
    expect(text).not.toContain('hunter2');
  });

  test('a problem of the core is placed in the file, also for objects that a document implies', async () => {
    const loaded = await load('kind: container\nname: c\nprofiles:\n  - default\n  - wbe\n');
    const plan = planChanges({
      documents: loaded.documents,
      observed: world({ profiles: [liveProfile('default'), liveProfile('web')] }),
    });
    expect(loaded.locate(plan.diagnostics[0]!)).toMatchObject({ file: '<stdin>', line: 5, column: 5 });
    expect(loaded.locationOf('container/c', 'profiles.1')).toEqual({ file: '<stdin>', line: 5, column: 5 });
  });
});

test.each([
  ['environment.DB_PASSWORD: a, b: c', 'environment.DB_PASSWORD: *******'],
  ['environment.DB_PASSWORD: a{b},c]d', 'environment.DB_PASSWORD: ********'],
  [`environment.X_TOKEN: 'it''s'`, 'environment.X_TOKEN: *******'],
  ['  environment.DB_PASSWORD: ${NAME}x', '  environment.DB_PASSWORD: ********'],
  ['  { environment.API_KEY: abc, user.a: x }', '  { environment.API_KEY: ***, user.a: x }'],
  [`config: {environment.X_TOKEN: "a,b}", b: 'c'}`, `config: {environment.X_TOKEN: ******, b: 'c'}`],
  ['user.a: plain', 'user.a: plain'],
  ['environment.URL: http://u:p@h/', 'environment.URL: *************'],
])('the line %s is shown as %s', (line, shown) => {
  expect(masked(line)).toBe(shown);
});
