// A plan that only adopts objects that are as declared, as after an export: no changes for exit codes and users, steps for machines and apply.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';

const here = useCliWorld();
const run = (...argv: readonly string[]): Promise<CliRun> =>
  cli([...argv, '--host', here.daemon.host], { env: { XDG_STATE_HOME: here.folder } });
const configOf = (name: string): Record<string, string> =>
  here.world.objects.profile.get(name)?.['config'] as Record<string, string>;

/** Objects created without a manifest. */
function makeByHand(name: string, config: Record<string, string>): void {
  here.world.objects.profile.set(name, { name, description: '', config, devices: {} });
}

async function exported(): Promise<string> {
  makeByHand('web', { 'limits.cpu': '2', 'user.a': 'one' });
  makeByHand('empty', {});
  const folder = join(here.folder, 'live');
  const run = await cli(['export', 'profile/web', 'profile/empty', '-o', folder, '--host', here.daemon.host]);
  expect(run.code, run.stderr).toBe(0);
  return folder;
}

const note =
  'No changes: everything is as declared. Apply only records on the server that it belongs to the set default.';

describe('a plan of what was exported', () => {
  test('A plan of exported objects exits with 0 under --detailed-exitcode and says that apply only records the owner', async () => {
    const folder = await exported();
    const plan = await run('plan', folder, '--detailed-exitcode');
    expect([plan.code, plan.stdout]).toEqual([0, expect.stringContaining(note)]);
    expect(plan.stdout).toContain('<= profile/web');
    expect(plan.stdout).toContain('Plan: 0 to add, 0 to change, 0 to destroy, 2 to take over as they are');
    const tried = await run('plan', folder, '--detailed-exitcode', '--dry-run=server');
    expect(tried.code, tried.stderr).toBe(0);
  });

  test('A plan of exported objects satisfies --expect-no-changes, in text and in JSON', async () => {
    const folder = await exported();
    for (const flags of [[], ['--json'], ['-o', 'json']]) {
      const plan = await run('plan', folder, '--expect-no-changes', ...flags);
      expect(plan.code, plan.stderr).toBe(0);
    }
  });

  test('A plan of exported objects keeps its steps in machine outputs, passes in JUnit, and has no changes in Markdown', async () => {
    const folder = await exported();
    const whole = JSON.parse((await run('plan', folder, '-o', 'json')).stdout) as {
      resource_changes: { address: string; steps: string[] }[];
    };
    const web = whole.resource_changes.find(({ address }) => address === 'profile/web');
    expect(web).toMatchObject({ change: { importing: { id: 'profile/web' } }, steps: ['profile/web#update'] });
    const lines = (await run('plan', folder, '--json')).stdout;
    expect(lines).toContain('"action":"import"');
    const junit = (await run('plan', folder, '-o', 'junit')).stdout;
    expect(junit).toContain('tests="2" failures="0"');
    expect(junit).toMatch(/name="web"><system-out>.*profile\/web/);
    expect((await run('plan', folder, '-o', 'markdown')).stdout).toContain(note);
  });

  test('An apply of exported objects changes nothing else and exits with 0 under --detailed-exitcode', async () => {
    const folder = await exported();
    const applied = await run('apply', '-y', folder, '--detailed-exitcode');
    expect(applied.code, applied.stderr).toBe(0);
    const { 'user.gantry.own.default': record, ...rest } = configOf('web');
    expect(rest).toEqual({ 'limits.cpu': '2', 'user.a': 'one' });
    expect(record).toContain('"k"');
    const again = await run('plan', folder, '--detailed-exitcode');
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^No changes: all 2/)]);
  });
});

describe('the exit code 2', () => {
  const manifest = (config: string, more = ''): string =>
    here.manifest(`kind: profile\nname: web\nconfig: {${config}}\n${more}`);
  const code = async (file: string): Promise<number> => (await run('plan', file, '--detailed-exitcode')).code;

  test('The exit code is 2 for a takeover together with a real difference', async () => {
    makeByHand('web', { 'user.a': 'one' });
    const plan = await run('plan', manifest('user.a: one, user.b: two'), '--detailed-exitcode');
    expect([plan.code, plan.stdout]).toEqual([2, expect.not.stringContaining('No changes')]);
    expect((await run('plan', manifest('user.a: one, user.b: two'), '--expect-no-changes')).code).toBe(1);
  });

  test('The exit code is 2 for a new manage: option, because a protection takes effect with its apply', async () => {
    makeByHand('web', { 'user.a': 'one' });
    expect(await code(manifest('user.a: one', 'manage: {protect: true}\n'))).toBe(2);
    expect((await run('apply', '-y', manifest('user.a: one'))).code).toBe(0);
    expect(await code(manifest('user.a: one'))).toBe(0);
    expect(await code(manifest('user.a: one', 'manage: {protect: true}\n'))).toBe(2);
  });

  test('The exit code is 2 when the set releases keys, and after an apply that created something', async () => {
    expect((await run('apply', '-y', manifest('user.a: one, user.b: two'), '--detailed-exitcode')).code).toBe(2);
    delete configOf('web')['user.b'];
    expect(await code(manifest('user.a: one'))).toBe(2);
  });
});
