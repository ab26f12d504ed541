// No path in the manifests of a source leaves its files: tries each field for files with absolute paths, `..` and links.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { SetConfig } from '../../../reconciler/controller/config/config.ts';
import { loadRevision } from '../../../reconciler/controller/sets/load-revision.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const secret = 'the-token-of-the-operator';
let work = '';
let source = '';
beforeEach(() => {
  work = tempFolder('gantry-fence-');
  source = join(work, 'checkout');
  mkdirSync(join(source, 'inside'), { recursive: true });
  mkdirSync(join(work, 'outside/module'), { recursive: true });
  for (const file of [join(work, 'outside/secret'), join(source, 'inside/secret')]) writeFileSync(file, secret);
  writeFileSync(join(work, 'outside/module/main.tf.json'), '{"output":{"x":{"value":"outside"}}}');
  symlinkSync(join(work, 'outside/secret'), join(source, 'link'));
  symlinkSync(join(work, 'outside'), join(source, 'linked'));
});

const config = { name: 'web', path: '.', variables: {}, hosts: [] } as unknown as SetConfig;
const host = { name: 'h1', address: 'unix:///x', groups: [], labels: {}, vars: {} };

async function load(): Promise<{ readonly problems: readonly string[]; readonly text: string }> {
  const loaded = await loadRevision(source, config, [host], new AbortController().signal);
  return {
    problems: loaded.problems,
    text: JSON.stringify([...loaded.hosts].map(([, { loaded: one }]) => one.documents)),
  };
}

/** Notations for the file `secret` outside the source. */
const ways = (): readonly (readonly [string, string])[] => [
  ['an absolute path', join(work, 'outside/secret')],
  ['a path with ..', '../outside/secret'],
  ['a path that comes back', 'inside/../../outside/secret'],
  ['a link', 'link'],
  ['a path through a linked folder', 'linked/secret'],
];

/** Every field of documents that names a file, each with a path in it. */
const fields: Readonly<Record<string, (path: string) => readonly [name: string, text: string]>> = {
  from_file: (path) => ['a.yaml', `kind: profile\nname: p\nconfig: { user.leak: { from_file: "${path}" } }\n`],
  from_sops: (path) => ['a.yaml', `kind: profile\nname: p\nconfig: { user.leak: { from_sops: "${path}#a" } }\n`],
  'source of files': (path) => [
    'a.yaml',
    `kind: container\nname: c\nsource: { type: none }\nfiles: [{ path: /leak, source: "${path}" }]\n`,
  ],
  'file of an image': (path) => ['a.yaml', `kind: image\nname: i\nfile: "${path}"\n`],
  'metadata of an image': (path) => ['a.yaml', `kind: image\nname: i\nmetadata: "${path}"\nrootfs: inside/secret\n`],
  'rootfs of an image': (path) => ['a.yaml', `kind: image\nname: i\nmetadata: inside/secret\nrootfs: "${path}"\n`],
  'file() of Terraform JSON': (path) => ['a.tf.json', terraform(`\${file("${path}")}`)],
  'filebase64() of Terraform JSON': (path) => ['a.tf.json', terraform(`\${filebase64("${path}")}`)],
  'filesha256() of Terraform JSON': (path) => ['a.tf.json', terraform(`\${filesha256("${path}")}`)],
  'templatefile() of Terraform JSON': (path) => ['a.tf.json', terraform(`\${templatefile("${path}", {})}`)],
  'fileexists() of Terraform JSON': (path) => ['a.tf.json', terraform(`\${fileexists("${path}")}`)],
};

/** A thread evaluates each of these, and all read by one reader: `file` tries every notation, the others a link. */
const ofReader = /^(filebase64|filesha256|templatefile|fileexists)/;

const terraform = (value: string): string =>
  JSON.stringify({ resource: { gantry_profile: { p: { name: 'p', config: { 'user.leak': value } } } } });

describe.each(Object.keys(fields))('%s', (field) => {
  const write = (path: string): void => {
    const [name, text] = fields[field]?.(path) ?? ['', ''];
    writeFileSync(join(source, name), text);
  };

  test('is refused outside the source in every notation, and the error does not reveal the file', async () => {
    for (const [way, path] of ways().filter(([way]) => way === 'a link' || !ofReader.test(field))) {
      write(path);
      const { problems, text } = await load();
      expect({ way, problems }).toEqual({ way, problems: [expect.stringContaining('out of the files of the source')] });
      expect(problems.join() + text).not.toContain(secret);
    }
  });
});

// The other field would need sops.
test.each(Object.keys(fields).filter((field) => field !== 'from_sops'))('%s is read from the source', async (field) => {
  const [name, text] = fields[field]?.('inside/secret') ?? ['', ''];
  writeFileSync(join(source, name), text);
  expect((await load()).problems).toEqual([]);
});

test('a module of Terraform JSON is refused outside the source', async () => {
  for (const folder of ['../outside/module', './linked/module']) {
    writeFileSync(join(source, 'a.tf.json'), JSON.stringify({ module: { m: { source: folder } } }));
    expect((await load()).problems.join()).toContain('out of the files of the source');
  }
});

test.each(['a.yaml', 'a.tf.json', 'gantry.lock', 'terraform.tfvars'])(
  '%s that is a link out of the source is not read',
  async (name) => {
    writeFileSync(join(source, 'other.tf.json'), terraform('x'));
    symlinkSync(join(work, 'outside/secret'), join(source, name));
    const outcome = await load().then(
      ({ problems }) => problems.join(),
      (error: unknown) => String(error),
    );
    expect(outcome).toContain('out of the files of the source');
    expect(outcome).not.toContain(secret);
  },
);

test('a set may be a single file', async () => {
  writeFileSync(join(source, 'a.yaml'), 'kind: profile\nname: p\n');
  const one = { ...config, path: 'a.yaml' };
  expect((await loadRevision(source, one, [host], new AbortController().signal)).problems).toEqual([]);
});

test('manifests cannot read the environment of the controller', async () => {
  process.env['GANTRY_FENCE_SECRET'] = secret;
  onTestFinished(() => void delete process.env['GANTRY_FENCE_SECRET']);
  writeFileSync(
    join(source, 'a.yaml'),
    'kind: profile\nname: p\nconfig: { user.leak: { from_env: GANTRY_FENCE_SECRET } }\n',
  );
  const { problems, text } = await load();
  expect(problems).toEqual([expect.stringContaining('the environment has no GANTRY_FENCE_SECRET')]);
  expect(problems.join() + text).not.toContain(secret);
});

test('the manifests of a local user may name any file', async () => {
  writeFileSync(
    join(source, 'a.yaml'),
    'kind: profile\nname: p\nconfig: { user.note: { from_file: ../outside/secret } }\n',
  );
  const { diagnostics, documents } = await loadManifests({ paths: [join(source, 'a.yaml')] });
  expect(diagnostics).toEqual([]);
  expect(JSON.stringify(documents)).toContain(secret);
});
