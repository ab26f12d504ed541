// Overlays: merging, replacing and removing, places of problems, and overlays without a base.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import type { Loaded } from '../../../reconciler/manifest/load-contract.ts';
import { cli } from '../../support/cli/io.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const folder = tempFolder('gantry-overlays-');

const base = `
kind: vars
vars: { MEM: 1GiB }
---
kind: profile
name: web
description: Base
config: { limits.memory: 512MiB, limits.cpu: 2, user.note: here }
devices:
  root: { type: disk, path: /, pool: fast }
  eth0: { type: nic, nictype: bridged, parent: lan0 }
---
kind: container
name: c1
profiles: [web, extra]
source: { type: none }
state: running
`;

async function load(...texts: readonly string[]): Promise<Loaded> {
  const paths = texts.map((text, index) => {
    const path = join(folder, `${index}.yaml`);
    writeFileSync(path, text);
    return path;
  });
  return loadManifests({ paths });
}

test('maps are merged, other values replaced, null removes, variables work in both, the last overlay wins', async () => {
  const prod = `
kind: profile
name: web
patch: true
config: { limits.memory: $MEM, user.note: null, user.gone: null }
devices: { eth0: { parent: wan0 }, gpu: { type: gpu } }
---
kind: container
name: c1
patch: true
profiles: [web]
state: stopped
manage: { protect: true }
`;
  const late = 'kind: profile\nname: web\npatch: true\ndescription: Late\ndevices: { gpu: null }\n';
  const { documents, diagnostics } = await load(base, prod, late);
  expect(diagnostics).toEqual([]);
  expect(documents.map(({ address }) => address)).toEqual(['profile/web', 'container/c1']);
  expect(documents[0]?.values).toEqual({
    description: 'Late',
    config: { 'limits.memory': '1GiB', 'limits.cpu': '2' },
    devices: {
      root: { type: 'disk', path: '/', pool: 'fast' },
      eth0: { type: 'nic', nictype: 'bridged', parent: 'wan0' },
    },
  });
  expect(documents[1]).toMatchObject({ values: { profiles: ['web'] }, state: 'stopped', manage: { protect: true } });
});

test('an overlay may be read before its base', async () => {
  const { documents } = await load('kind: profile\nname: web\npatch: true\ndescription: Early\n', base);
  expect(documents[0]?.values['description']).toBe('Early');
});

test('a problem is reported where it was written', async () => {
  const { diagnostics } = await load(base, 'kind: profile\nname: web\npatch: true\nconfig: { limits.memory: 1 gig }\n');
  expect(diagnostics).toMatchObject([{ file: join(folder, '1.yaml'), line: 4, path: 'config.limits.memory' }]);
  const other = await load(
    base.replace('limits.cpu: 2', 'limits.cpu: many'),
    'kind: profile\nname: web\npatch: true\n',
  );
  expect(other.diagnostics).toMatchObject([{ file: join(folder, '0.yaml'), line: 8, path: 'config.limits.cpu' }]);
});

test('an overlay without a base is an error', async () => {
  const { diagnostics } = await load(base, 'kind: profile\nname: wbe\npatch: true\n', 'patch: true\n');
  expect(diagnostics.map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'bad-overlay: there is no profile/wbe to lay this over (did you mean profile/web?)',
    'bad-overlay: an overlay must say kind and name of what it changes',
  ]);
});

test('gantry takes overlays with -k', async () => {
  const [main, over] = [join(folder, 'main.yaml'), join(folder, 'over.yaml')];
  writeFileSync(main, base);
  writeFileSync(over, 'kind: container\nname: c1\npatch: true\nprofiles: 5\n');
  const wrong = await cli(['validate', '-f', main, '-k', over]);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain('over.yaml:4');
  writeFileSync(over, 'kind: container\nname: c1\npatch: true\nprofiles: [web]\n');
  expect((await cli(['validate', '-f', main, '-k', over])).code).toBe(0);
});
