// An import block of Terraform JSON: what it names must be on the server, as for Terraform.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';

let daemon: TestDaemon;
let folder = '';
beforeAll(async () => {
  daemon = await makeDaemon();
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'gti-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await daemon.cleanUp();
});

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
