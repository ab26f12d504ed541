// The manifests in the pages for users: each YAML block with documents is a valid manifest, without a server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadManifests } from '../../reconciler/manifest/load.ts';
import { makeSelfSigned } from '../../server/lib/self-signed.ts';
import { markdownPages } from '../support/markdown.ts';
import { tempFolder } from '../support/temp-folder.ts';

const examples = [...markdownPages('docs'), ...markdownPages('.').filter(({ path }) => path === 'README.md')].flatMap(
  ({ path, text }) =>
    [...text.matchAll(/```yaml\n([\s\S]*?)```/g)]
      .map((match) => match[1] ?? '')
      .filter((yaml) => /^kind: /m.test(yaml) && !/^patch: true/m.test(yaml))
      .map((yaml) => ({ path, yaml })),
);

const laptop = {
  commonName: 'laptop',
  organization: 'docs',
  subjectAltNames: [],
  notBefore: new Date('2026-01-01'),
  notAfter: new Date('2036-01-01'),
  usage: 'client',
} as const;

describe('the manifests in docs/', () => {
  const folder = tempFolder('gantry-docs-');
  beforeAll(async () => {
    writeFileSync(join(folder, 'busybox.tar.gz'), '');
    writeFileSync(join(folder, 'laptop.crt'), (await makeSelfSigned(laptop)).certPem);
  });

  test.each(examples)('$path has an example without a problem', async ({ yaml }) => {
    const path = join(folder, 'example.yaml');
    writeFileSync(path, yaml);
    const { diagnostics } = await loadManifests({
      paths: [path],
      env: { APP_PASSWORD: 'x' },
      readImages: false,
      nowMs: Date.UTC(2026, 0, 1),
    });
    expect(diagnostics.map(({ message }) => message)).toEqual([]);
  });

  test('are one for each kind and more', () => {
    expect(examples.length).toBeGreaterThan(15);
  });
});
