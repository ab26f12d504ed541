// An import block of Terraform JSON: what it names must be on the server, as for Terraform.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const daemon = await fileDaemon();
const folder = tempFolder('gti-');

test('an import of an object that does not exist is an error of the plan, one that exists is taken over', async () => {
  const path = join(folder, 'cdk.tf.json');
  const configuration = {
    resource: { gantry_profile: { p: { name: 'known', config: { 'user.a': 'b' } }, q: { name: 'other' } } },
    import: [{ to: 'gantry_profile.p', id: 'known' }],
  };
  writeFileSync(path, JSON.stringify(configuration));
  const host = `unix://${daemon.socketPath}`;
  const refused = await cli(['plan', path, '--host', host]);
  expect(refused.code).toBe(1);
  expect(`${refused.stdout}${refused.stderr}`).toContain(
    'profile/known cannot be imported: the server has no such object',
  );
  await daemon.call('POST', '/1.0/profiles', { name: 'known' });
  const applied = await cli(['apply', path, '-y', '--host', host]);
  expect(applied.code, `${applied.stdout}${applied.stderr}`).toBe(0);
  expect((await daemon.get('/1.0/profiles/known')).config).toMatchObject({ 'user.a': 'b' });
  expect(await daemon.get('/1.0/profiles')).toContain('/1.0/profiles/other');
});
