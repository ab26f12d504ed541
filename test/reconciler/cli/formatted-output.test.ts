// Manifests that gantry writes (templates of init, exports) pass gantry fmt --check.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { firstContainer, templates } from '../../../reconciler/cli/verbs/setup/init-templates.ts';
import { formatManifest } from '../../../reconciler/manifest/text/format.ts';
import { cli } from '../../support/cli/io.ts';
import { createContainer, seed, withDaemon } from '../../support/daemons/daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const dir = tempFolder('gfmt-');

const first = firstContainer({ image: '', alias: 'debian/12', name: 'web', network: 'gantry0' });
test.each(Object.entries({ ...templates, first: { files: first } }))(
  'The files of the template %s are formatted',
  (_, { files }) => {
    for (const text of Object.values<string>(files)) expect(formatManifest(text)).toEqual({ text });
  },
);

test('Exports are formatted, with volumes, scripts and variables for secrets', async () => {
  await withDaemon({}, async (daemon) => {
    await seed(daemon);
    await createContainer(daemon, 'c1');
    const config = { 'user.password': 'hush', 'user.user-data': '#!/bin/sh\necho hi\n', 'user.a': ' x: y # z ' };
    await daemon.call('POST', '/1.0/profiles', { name: 'q', description: 'a: b\nc', config });
    await daemon.call('POST', '/1.0/storage-pools', { name: 'p1', driver: 'dir', config: {} });
    await daemon.call('POST', '/1.0/storage-pools/p1/volumes/custom', { name: 'v1', description: 'data', config: {} });
    const env = { GANTRY_SOCKET: daemon.socketPath };
    for (const flags of [[], ['--redact']]) {
      const { stdout } = await cli(['export', ...flags], { env });
      expect(stdout).toContain('kind: storage_volume');
      expect(formatManifest(stdout)).toEqual({ text: stdout });
    }
    const written = await cli(['export', '--redact', '-o', join(dir, 'all')], { env });
    expect(written.code, written.stderr).toBe(0);
    expect(await cli(['fmt', '--check', join(dir, 'all')], { env })).toMatchObject({ code: 0, stdout: '' });
    for (const file of readdirSync(join(dir, 'all')))
      expect(readFileSync(join(dir, 'all', file), 'utf8')).toMatch(/^# Written by/);
  });
});
