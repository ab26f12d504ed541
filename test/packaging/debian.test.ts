// The Debian packages as data, their scripts, and the bill of materials; building them is shown by test/hosts.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { addOns } from '../../packaging/build/add-ons.ts';
import { notices, packageFolder, type Component } from '../../packaging/build/components.ts';
import { debianPackages, debianVersion, type Inputs } from '../../packaging/build/debian.ts';
import { manuals } from '../../packaging/build/manuals.ts';
import { packNpm } from '../../packaging/build/npm.ts';
import { cyclonedx } from '../../packaging/build/sbom.ts';
import { folderEntries, writeTree, type Entry } from '../../packaging/build/tree.ts';
import { tempFolder } from '../support/temp-folder.ts';

const dir = tempFolder('gantry-deb-');

const inputs: Inputs = {
  version: '1.2.0-rc.1',
  maintainer: 'Somebody <somebody@example.org>',
  epoch: 1_700_000_000,
  product: [['dist/bin/chunk.js', { text: 'export {};\n', mode: 0o644 }]],
  programs: { gantry: '#!/usr/bin/env node\nmain();\n', gantryd: '#!/usr/bin/env node\nrun();\n' },
  pages: [
    ['examples/quickstart/build-image.sh', { text: 'make', mode: 0o644 }],
    ['examples/quickstart/stack.yaml', { text: 'kind: container', mode: 0o644 }],
  ],
  manuals: { gantry: new Map([['man1/gantry.1.gz', Buffer.from('page')]]), gantryd: new Map() },
  completions: { bash: 'bash', zsh: 'zsh', fish: 'fish' },
  node: '/bin/true',
  notices: 'terms',
  gzip: (content) => gzipSync(content),
  packaging: (path) => readFileSync(join('packaging', path), 'utf8'),
};

const treeOf = (name: string) =>
  debianPackages(inputs).find((each) => each.name === name)?.tree ?? new Map<string, Entry>();
const textOf = (name: string, path: string): string => {
  const entry = treeOf(name).get(path);
  return entry !== undefined && 'text' in entry ? String(entry.text) : '';
};

describe('the Debian packages', () => {
  test('a pre-release of npm is older than its release for dpkg', () => {
    expect(debianVersion('1.2.0')).toBe('1.2.0');
    expect(debianVersion('1.2.0-rc.1')).toBe('1.2.0~rc.1');
  });

  test('gantryd needs the very version of gantry whose programs it starts', () => {
    expect(textOf('gantryd', 'DEBIAN/control')).toContain('Depends: gantry (= 1.2.0~rc.1), dnsmasq-base');
    expect(textOf('gantry', 'DEBIAN/control')).toMatch(/^Package: gantry\nVersion: 1\.2\.0~rc\.1\n/);
  });

  test('the programs run with the Node.js of the package', () => {
    expect(textOf('gantry', 'usr/lib/gantry/dist/bin/gantry.js')).toBe('#!/usr/lib/gantry/gantry-node\nmain();\n');
    expect(treeOf('gantry').get('usr/lib/gantry/gantry-node')).toEqual({ from: '/bin/true', mode: 0o755 });
    expect(treeOf('gantryd').get('usr/sbin/gantryd')).toEqual({ link: '../lib/gantry/dist/bin/gantryd.js' });
  });

  test('the scripts that gantry init runs are beside the programs, as documentation may be left out of a machine', () => {
    const found = [...treeOf('gantry').keys()].filter((path) => path.includes('examples/'));
    expect(found.toSorted()).toEqual([
      'usr/lib/gantry/examples/quickstart/build-image.sh',
      'usr/share/doc/gantry/examples/quickstart/build-image.sh',
      'usr/share/doc/gantry/examples/quickstart/stack.yaml',
    ]);
  });

  test('the calls of the C library load from the files that the package has of them', () => {
    const target = join(dir, 'add-ons');
    writeTree(new Map(addOns()), target, inputs.epoch);
    writeFileSync(join(target, 'use.mjs'), "import koffi from 'koffi'; console.log(typeof koffi.load(null).func);");
    const { stdout, stderr } = spawnSync(process.execPath, [join(target, 'use.mjs')], { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: 'function\n', stderr: '' });
  });

  test('each package has the manual pages of its programs, in the folders of man', () => {
    const folder = join(dir, 'man');
    for (const page of ['man1/gantry.1', 'man5/gantry.yaml.5', 'man8/gantryd.8']) {
      mkdirSync(dirname(join(folder, page)), { recursive: true });
      writeFileSync(join(folder, page), page);
    }
    const { gantry, gantryd } = manuals(folder, (text) => Buffer.from(text));
    expect([...gantry.keys()]).toEqual(['man1/gantry.1.gz', 'man5/gantry.yaml.5.gz']);
    expect([...gantryd]).toEqual([['man8/gantryd.8.gz', Buffer.from('man8/gantryd.8')]]);
    expect(manuals(join(dir, 'none'), (text) => Buffer.from(text)).gantry.size).toBe(0);
  });

  test('every file of packaging for hosts is in the package of the daemon', () => {
    const paths = [...treeOf('gantryd').keys()];
    for (const name of ['gantryd.service', 'gantry-containers.service', 'sysusers.d/gantry.conf', '60-gantryd.conf'])
      expect(
        paths.filter((path) => path.endsWith(name)),
        name,
      ).toHaveLength(1);
  });

  test.each(['postinst', 'prerm', 'postrm'])('the script %s is correct for sh and can be executed', (name) => {
    const entry = treeOf('gantryd').get(`DEBIAN/${name}`);
    expect(entry).toMatchObject({ mode: 0o755 });
    expect(spawnSync('sh', ['-n', join('packaging/debian', `gantryd.${name}`)]).status).toBe(0);
  });

  test('a tree is written twice with the same modes and times, whatever the mask of the builder', () => {
    const listings = [0o022, 0o077].map((mask, index) => {
      const target = join(dir, `tree-${index}`);
      const before = process.umask(mask);
      try {
        writeTree(treeOf('gantryd'), target, inputs.epoch);
      } finally {
        process.umask(before);
      }
      return [...treeOf('gantryd').keys()].map((path) => {
        const { mode, mtimeMs } = statSync(join(target, path), { throwIfNoEntry: false }) ?? { mode: 0, mtimeMs: 0 };
        return `${path} ${mode.toString(8)} ${mtimeMs}`;
      });
    });
    expect(listings[1]).toEqual(listings[0]);
    expect(listings[0]).toContain(`DEBIAN/postinst 100755 ${inputs.epoch * 1000}`);
  });

  test('files of a folder come in order, and scripts of a shell are executable', () => {
    const entries = folderEntries('packaging/debian', 'x');
    expect(entries.map(([path, entry]) => [path, 'mode' in entry ? entry.mode.toString(8) : ''])).toEqual([
      ['x/gantry.lintian-overrides', '644'],
      ['x/gantryd.postinst', '755'],
      ['x/gantryd.postrm', '755'],
      ['x/gantryd.prerm', '755'],
    ]);
  });
});

describe('the package for npm', () => {
  test('is the same whatever the mask of the checkout was', () => {
    const packed = [0o600, 0o644].map((mode, index) => {
      const [source, target] = [join(dir, `npm-${index}`), join(dir, `packed-${index}`)];
      for (const path of [source, target]) mkdirSync(path);
      writeFileSync(join(source, 'package.json'), '{"name":"a","version":"1.0.0","bin":"a.js"}', { mode });
      writeFileSync(join(source, 'a.js'), '#!/usr/bin/env node', { mode: mode | 0o100 });
      packNpm(source, target, inputs.epoch);
      return readFileSync(join(target, 'a-1.0.0.tgz'), 'base64');
    });
    expect(packed[1]).toBe(packed[0]);
  });
});

describe('the bill of materials', () => {
  const parts: readonly Component[] = [
    { name: '@a/b', version: '1.0.0', license: 'MIT', licenseText: 'terms of b' },
    { name: 'c', version: '2.0.0', license: '(MIT OR Apache-2.0)', licenseText: '' },
  ];

  test('names each library with version, license and package URL, the same for the same release', () => {
    const release = { version: '1.2.0', epoch: 1_700_000_000, node: '24.0.0' };
    const bom = JSON.parse(cyclonedx(release, parts)) as { components: unknown[]; metadata: unknown };
    expect(bom.components).toHaveLength(3);
    expect(bom.components[0]).toMatchObject({ purl: 'pkg:npm/%40a/b@1.0.0', licenses: [{ license: { id: 'MIT' } }] });
    expect(bom.components[1]).toMatchObject({ licenses: [{ expression: '(MIT OR Apache-2.0)' }] });
    expect(bom.metadata).toMatchObject({ timestamp: '2023-11-14T22:13:20.000Z' });
    expect(cyclonedx(release, parts)).toBe(cyclonedx(release, parts));
  });

  test('the notices have the terms of each library', () => {
    expect(notices(parts)).toContain('@a/b 1.0.0 (MIT)\n================\n\nterms of b');
    expect(notices(parts)).toContain('No text comes with it');
  });

  test('a bundled file leads to its package, scoped and nested ones too', () => {
    expect(packageFolder('node_modules/ws/lib/sender.js')).toBe('node_modules/ws');
    expect(packageFolder('node_modules/a/node_modules/@b/c/d.js')).toBe('node_modules/a/node_modules/@b/c');
    expect(packageFolder('server/lib/log.ts')).toBeUndefined();
  });
});
