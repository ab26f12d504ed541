// A value whose source makes it secret stays hidden when the manifests no longer declare it: the record of the set names its key.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { useCliWorld } from '../../../support/cli/world.ts';

const here = useCliWorld();
/** No key and no form says that it is secret. */
const value = 'maple-syrup-77';
const run = (...argv: readonly string[]): Promise<CliRun> =>
  cli([...argv, '--host', here.daemon.host], { env: { MENU: value } });
const web = (config: string): string => `kind: profile\nname: web\nconfig: {${config}}\n`;
const secret = 'user.menu: { from_env: MENU }';
const config = (): Record<string, string> =>
  here.world.objects.profile.get('web')?.['config'] as Record<string, string>;
const record = (set = 'default'): unknown => JSON.parse(config()[`user.gantry.own.${set}`] ?? '{}');

async function apply(text: string, ...flags: readonly string[]): Promise<void> {
  const done = await run('apply', '-y', here.manifest(text), ...flags);
  expect(done.code, done.stderr).toBe(0);
  const next = await run('plan', '--detailed-exitcode', here.manifest(text), ...flags);
  expect(next.code, next.stdout).toBe(0);
}

/** Everything that a plan says and stores. */
async function planned(text: string, ...flags: readonly string[]): Promise<string> {
  const file = here.manifest(text);
  const saved = join(here.folder, 'saved.plan');
  const runs = [
    await run('plan', file, ...flags),
    await run('plan', '--json', file, ...flags),
    await run('plan', '--out', saved, file, ...flags),
    await run('show', '--json', saved),
    await run('diff', file, ...flags),
    await run('drift', file, ...flags),
  ];
  return runs.map(({ stdout, stderr }) => `${stdout}${stderr}`).join('\n') + readFileSync(saved, 'utf8');
}

describe('a secret that is declared', () => {
  test('has its key in the record, and never its value', async () => {
    await apply(web(`user.a: 1, ${secret}`));
    expect(config()['user.menu']).toBe(value);
    expect(record()).toMatchObject({ s: ['config.user.menu'] });
    expect(JSON.stringify(record())).not.toContain(value);
  });

  test('is hidden in the plan that takes it out, and its mark goes with it', async () => {
    await apply(web(`user.a: 1, ${secret}`));
    const said = await planned(web('user.a: 1'));
    expect(said).toContain('config.user.menu');
    expect(said).not.toContain(value);
    await apply(web('user.a: 1'));
    expect(config()).not.toHaveProperty('user.menu');
    expect(record()).not.toHaveProperty('s');
  });

  test('is hidden in the plan that replaces it by a plain value, which is shown from then on', async () => {
    await apply(web(`user.a: 1, ${secret}`));
    expect(await planned(web('user.a: 1, user.menu: pancakes'))).not.toContain(value);
    await apply(web('user.a: 1, user.menu: pancakes'));
    expect(record()).not.toHaveProperty('s');
    expect((await run('plan', here.manifest(web('user.a: 1, user.menu: waffles')))).stdout).toMatch(
      /"pancakes" -> "waffles"/,
    );
  });

  test('is hidden beside a change of another key, and in the drift of a key that somebody else changed', async () => {
    await apply(web(`user.a: 1, ${secret}`));
    expect(await planned(web(`user.a: 2, ${secret}`))).not.toContain(value);
    config()['user.menu'] = `${value}-of-somebody`;
    expect(await planned(web(`user.a: 1, ${secret}`))).not.toContain(value);
    const drift = await run('drift', here.manifest('kind: profile\nname: other\n'));
    expect(drift.stdout).toContain('config.user.menu');
    expect(drift.stdout).not.toContain(value);
  });

  test('is hidden in plans that delete its object, and in those of another set', async () => {
    await apply(web(`user.a: 1, ${secret}`));
    const destroyed = await run('plan', '--destroy', '--json', here.manifest(web('user.a: 1')));
    expect(destroyed.stdout).toContain('profile/web');
    expect(destroyed.stdout).not.toContain(value);
    expect(await planned(web('user.b: 2'), '--set', 'other')).not.toContain(value);
    const taken = await planned(web('user.menu: mine'), '--set', 'other', '--force-conflicts');
    expect(taken).not.toContain(value);
    await apply(web('user.menu: mine'), '--set', 'other', '--force-conflicts');
    expect([record(), record('other')].map((one) => JSON.stringify(one))).not.toContainEqual(
      expect.stringContaining('"s"'),
    );
  });

  test('marks no record that an older version wrote until the object changes', async () => {
    await apply(web(`user.a: 1, ${secret}`));
    const { s: _s, ...older } = record() as Record<string, unknown>;
    config()['user.gantry.own.default'] = JSON.stringify(older);
    const next = await run('plan', '--detailed-exitcode', here.manifest(web(`user.a: 1, ${secret}`)));
    expect(next.code, next.stdout).toBe(0);
    await apply(web(`user.a: 2, ${secret}`));
    expect(record()).toMatchObject({ s: ['config.user.menu'] });
  });
});
