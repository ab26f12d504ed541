// Plans saved in files: their content, their exact application, and when they are stale.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { renderMarkdown } from '../../../reconciler/core/render/render-markdown.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';
import { document, liveProfile, world as worldOf } from '../../support/fakes/worlds.ts';

const here = useCliWorld();
const run = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', here.daemon.host]);
const file = (): string => join(here.folder, 'the.plan');
const web = (config: string): string => `kind: profile\nname: web\nconfig: {${config}}\n`;
const config = (): Record<string, string> =>
  here.world.objects.profile.get('web')?.['config'] as Record<string, string>;
const plan = async (text: string): Promise<void> => {
  const made = await run('plan', '--out', file(), here.manifest(text));
  expect(made.code, made.stderr).toBe(0);
};

describe('a saved plan', () => {
  test('A saved plan is applied without a question, also when the manifest has changed, and can be shown', async () => {
    await plan(web('user.a: 1'));
    here.manifest(web('user.a: 2'));
    const shown = await run('show', file());
    expect(shown.stdout).toContain('+ profile/web');
    expect(JSON.parse((await run('show', '--json', file())).stdout)).toMatchObject({ format_version: '1.2' });
    const done = await run('apply', file());
    expect(done.code, done.stderr).toBe(0);
    expect(config()['user.a']).toBe('1');
    const again = await run('apply', file());
    expect(again.code).toBe(0);
    expect(again.stdout).toContain('The plan is already carried out');
  });

  test('show of a plan that is not there, and of a file that is no plan, says so', async () => {
    const missing = await run('show', 'missing.plan');
    expect([missing.code, missing.stderr]).toEqual([
      64,
      expect.stringContaining('there is no file missing.plan: gantry plan --out missing.plan saves'),
    ]);
    const other = here.manifest(web('user.a: 1'));
    expect((await run('show', other)).stderr).toContain(`${other} is not a saved plan`);
    expect((await run('show', 'web')).stderr).toContain('such as container/web');
  });

  test('A saved plan is applied when an object changed in other keys than those of the plan, and keeps that change', async () => {
    await run('apply', '-y', here.manifest(web('user.a: 1')));
    await plan(web('user.a: 2'));
    config()['user.other'] = 'x';
    const done = await run('apply', file());
    expect(done.code, done.stderr).toBe(0);
    expect(config()).toMatchObject({ 'user.a': '2', 'user.other': 'x' });
  });

  test('A saved plan is stale, with exit code 3 and the reason, when the objects that it changes have changed', async () => {
    await run('apply', '-y', here.manifest(web('user.a: 1')));
    await plan(web('user.a: 2'));
    config()['user.a'] = '7';
    const refused = await run('apply', file());
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('config.user.a "7" -> "2"');
    expect(refused.stderr).toContain('approved was update (config.user.a "1" -> "2")');
    expect(config()['user.a']).toBe('7');
  });

  test('A saved plan changes nothing else: other differences are reported and left', async () => {
    const two = (a: string, b: string): string =>
      `${web(`user.a: ${a}`)}---\nkind: profile\nname: db\nconfig: {user.b: ${b}}\n`;
    await run('apply', '-y', here.manifest(two('1', '1')));
    await plan(two('2', '1'));
    const db = here.world.objects.profile.get('db')?.['config'] as Record<string, string>;
    db['user.b'] = 'drifted';
    const done = await run('apply', file());
    expect(done.code, done.stderr).toBe(0);
    expect(done.stderr).toContain('left alone: profile/db');
    expect([config()['user.a'], db['user.b']]).toEqual(['2', 'drifted']);
  });

  test('A saved plan is stale when a dependency outside the plan is gone', async () => {
    const both = `${web('user.a: 1')}---\nkind: container\nname: c1\nprofiles: [default, web]\nsource: {type: none}\n`;
    await run('apply', '-y', here.manifest(web('user.a: 1')));
    await plan(both);
    here.world.objects.profile.delete('web');
    const refused = await run('apply', file());
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('container/c1 now needs profile/web#create');
    expect(here.world.objects.container.size).toBe(0);
  });

  test('A saved plan has no secrets: they are read from the manifests again, and reported when missing', async () => {
    const secret = web('environment.DB_PASSWORD: S3CR3T, environment.PIN_TOKEN: 4711, user.a: 1');
    await plan(secret);
    const text = readFileSync(file(), 'utf8');
    expect(text).not.toMatch(/S3CR3T|4711/);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    here.manifest(web('user.a: 1'));
    const missed = await run('apply', file());
    expect(missed.code).toBe(3);
    expect(missed.stderr).toContain('profile/web config.environment.DB_PASSWORD');
    here.manifest(secret);
    expect((await run('apply', file())).code).toBe(0);
    expect(config()).toMatchObject({ 'environment.DB_PASSWORD': 'S3CR3T', 'environment.PIN_TOKEN': '4711' });
  });

  test('A saved plan that was tampered with, or has a later version, is refused', async () => {
    await plan(web('user.a: 1'));
    const text = readFileSync(file(), 'utf8');
    writeFileSync(
      file(),
      text.replace('"documents":[{"kind":"profile","name":"web"', '"documents":[{"kind":"profile","name":"wob"'),
    );
    expect((await run('apply', file())).stderr).toContain('is damaged');
    writeFileSync(file(), text.replace('"version":1', '"version":2'));
    expect((await run('apply', file())).code).toBe(64);
    writeFileSync(file(), text.slice(0, 200));
    expect((await run('apply', file())).stderr).toContain('is damaged');
    expect(here.world.objects.profile.has('web')).toBe(false);
  });

  test('A saved plan carries the ETags of the objects that it changes', async () => {
    await run('apply', '-y', here.manifest(web('user.a: 1')));
    await plan(web('user.a: 2'));
    const saved = JSON.parse(readFileSync(file(), 'utf8')) as {
      changes: { etag?: string }[];
      plan: { resource_changes: { etag: string }[] };
    };
    expect(saved.changes[0]?.etag).toMatch(/^[0-9a-f]{64}$/);
    expect(saved.plan.resource_changes[0]?.etag).toBe(saved.changes[0]?.etag);
  });
});

describe('a plan as Markdown', () => {
  const of = (count: number, value = 'x'): string => {
    const documents = Array.from({ length: count }, (_, index) =>
      document('profile', `p${index}`, { config: { 'user.note': value, 'environment.DB_PASSWORD': 'S3CR3T' } }),
    );
    return renderMarkdown(planChanges({ documents, observed: worldOf({ profiles: [liveProfile('default')] }) }));
  };

  test('A plan as Markdown has a visible summary, folded changes, and no secrets', () => {
    const text = of(2);
    expect(text).toMatch(/^### Plan: 2 to add, 0 to change, 0 to destroy\n/);
    expect(text).toContain('| `profile/p0` | create | live | 2 |');
    expect(text).toContain('<details><summary><code>profile/p1</code></summary>');
    expect(text).not.toContain('S3CR3T');
    expect(of(0)).toBe('### No changes\n');
  });

  test('A plan as Markdown fits the limit of a comment, and values cannot break its markup', () => {
    const long = of(2000, 'y'.repeat(90));
    expect(long.length).toBeLessThan(65_536);
    expect(long).toMatch(/_\d+ more changes are too long for this comment/);
    expect(of(1, '```\n</details><script>')).toContain('\n````diff\n');
  });

  test('The command line writes Markdown, JSON and text', async () => {
    const path = here.manifest(web('user.a: 1'));
    expect((await run('plan', '-o', 'markdown', path)).stdout).toContain('### Plan: 1 to add');
    expect(JSON.parse((await run('plan', '-o', 'json', path)).stdout)).toMatchObject({ owner: 'default' });
    expect((await run('plan', '-o', 'xml', path)).code).toBe(64);
  });
});
