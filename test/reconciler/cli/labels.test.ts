// Labels and environments through the command line: selectors, labels on the server, overlays with --env.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  isSelectorProblem,
  matchesSelector,
  parseSelector,
} from '../../../reconciler/core/documents/label-selector.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let dir = '';
let daemon: TestDaemon;
useDaemon((given) => void (daemon = given));
beforeEach(() => void (dir = tempFolder('gtlb-')));

const on = (verb: string, ...more: readonly string[]): Promise<CliRun> =>
  cli([verb, ...more, '--host', `unix://${daemon.socketPath}`]);

function folder(name: string, files: Readonly<Record<string, string>>): string {
  for (const [file, text] of Object.entries(files)) {
    const path = join(dir, name, file);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
  return join(dir, name);
}

const profile = (name: string, labels: string): string =>
  `kind: profile\nname: ${name}\n${labels === '' ? '' : `labels: { ${labels} }\n`}config: { limits.memory: 64MiB }\n`;
const pool = 'kind: storage_pool\nname: p1\ndriver: dir\n';
const root = 'devices: { root: { type: disk, path: /, pool: p1 } }\n';

describe('selectors', () => {
  const labels = { app: 'web', tier: 'front', 'example.org/zone': 'a' };
  const fits = (text: string): boolean | string => {
    const parsed = parseSelector(text);
    return isSelectorProblem(parsed) ? parsed.message : matchesSelector(parsed, labels);
  };

  test('Selectors have the meaning of kubectl', () => {
    for (const text of [
      'app=web',
      'app==web',
      'app = web',
      'app=web,tier!=db',
      'app in (db, web)',
      'app notin (db)',
      'zone notin (a)',
      'stage!=prod',
      'app',
      '!stage',
      'example.org/zone=a',
    ])
      expect(fits(text), text).toBe(true);
    for (const text of ['app=db', 'app!=web', 'app in (db)', 'app notin (web,db)', 'stage', '!app', 'stage=', 'app='])
      expect(fits(text), text).toBe(false);
  });

  test('A wrong selector is refused with the wrong part', () => {
    expect(fits('')).toContain('a part is empty');
    expect(fits('app=web,')).toContain('a part is empty');
    expect(fits('app in (a')).toContain('parentheses');
    expect(fits('app in a')).toContain('"app in a" is not a condition');
    expect(fits('app>3')).toContain('not a condition');
    expect(fits('app=a b')).toContain('not a condition');
    expect(fits(`app=${'x'.repeat(64)}`)).toContain('cannot be a value');
    expect(fits('a/b/c=d')).toContain('not a condition');
  });
});

describe('labels', () => {
  test('Labels are stored on the server, select objects for every verb, and are removed when the manifest drops them', async () => {
    const stack = folder('labels', {
      'a.yaml': [
        pool,
        `${profile('web', 'app: web, tier: front')}${root}`,
        profile('db', 'app: db'),
        profile('plain', ''),
        'kind: container\nname: c1\nprofiles: [web]\nsource: { type: none }\nstate: stopped\nlabels: { app: web, rank: 1 }\n',
      ].join('---\n'),
    });
    const first = await on('plan', '-f', stack, '-l', 'app=web,tier!=db', '--json');
    const planned = first.stdout.split('\n').flatMap((line) => /"addr":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(planned).toEqual(['storage_pool/p1', 'profile/web', 'container/c1']);
    const done = await on('apply', '-y', '-f', stack);
    expect(done.code, done.stderr).toBe(0);
    expect((await on('plan', '-f', stack, '--detailed-exitcode')).code).toBe(0);
    expect((await daemon.get('/1.0/profiles/web')).config).toMatchObject({ 'user.gantry.label.app': 'web' });

    expect((await on('get', 'profiles', '-l', 'app in (web, db)', '-o', 'name')).stdout).toBe('db\nweb\n');
    expect((await on('get', 'profiles', '-l', '!app', '-o', 'name')).stdout).toBe('default\nplain\n');
    const exported = await on('export', '-l', 'app=web');
    expect(exported.stdout).toMatch(/labels:\n {2}app: web\n {2}tier: front\n/);
    expect(exported.stdout).not.toContain('user.gantry');
    expect(exported.stdout).not.toContain('name: db');
    const again = folder('exported', { 'all.yaml': (await on('export')).stdout });
    expect((await on('plan', '-f', again, '--detailed-exitcode')).code).toBe(0);

    const released = await on('release', '-l', 'app=db');
    expect([released.code, released.stdout]).toEqual([0, expect.stringContaining('profile/db')]);
    expect(released.stdout).not.toContain('profile/web');
    expect((await on('release', '-l', 'app=db')).stderr).toContain(
      'matches no object of the set: the labels are app=web',
    );
    expect((await on('release', '--all')).code).toBe(0);
    const adopted = await on('adopt', '-f', stack, '-l', 'app=db');
    expect(adopted.code, adopted.stderr).toBe(0);
    expect(adopted.stdout).toContain('profile/db');
    expect(adopted.stdout).not.toContain('profile/plain');
    expect((await on('apply', '-y', '-f', stack)).code).toBe(0);

    writeFileSync(
      join(stack, 'a.yaml'),
      [pool, `${profile('web', 'app: web')}${root}`, profile('db', 'app: sql'), profile('plain', '')].join('---\n'),
    );
    const moved = await on('plan', '-f', stack);
    expect(moved.stdout).toMatch(/- config\.user\.gantry\.label\.tier += "front"/);
    expect(moved.stdout).toMatch(/~ config\.user\.gantry\.label\.app += "db" -> "sql"/);
    expect((await on('apply', '-y', '-f', stack)).code).toBe(0);
    expect((await on('plan', '-f', stack, '--detailed-exitcode')).code).toBe(0);
    expect(Object.keys((await daemon.get('/1.0/profiles/web')).config)).not.toContain('user.gantry.label.tier');
    const gone = await on('destroy', '-y', '-f', stack, '-l', 'app=sql');
    expect(gone.stdout, gone.stderr).toContain('0 added, 0 changed, 1 destroyed');
    expect((await on('drift', '-f', stack, '-l', 'app=web')).code).toBe(0);
    expect((await on('status', '-f', stack, '-l', 'app=sql')).stdout).toContain('absent');
  });

  test('Selectors that match nothing, or are invalid, end the command before it connects', async () => {
    const stack = folder('wrong', { 'a.yaml': profile('web', 'app: web') });
    const none = await on('apply', '-y', '-f', stack, '-l', 'app=wbe');
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringContaining('matches no document: the labels are app=web'),
    ]);
    const bad = await cli(['plan', '-f', stack, '-l', 'app in web', '--host', 'unix:///nowhere/at/all']);
    expect([bad.code, bad.stderr]).toEqual([64, expect.stringContaining('is not a condition on a label')]);
    expect((await on('plan', '-f', stack, '-l', 'app=web', '--target', 'profile/web')).code).toBe(64);
    folder('wrong', { 'a.yaml': profile('web', 'app: a b, "-x": y') });
    const refused = await cli(['validate', stack]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the value of the label app must be');
    expect(refused.stderr).toContain('the label "-x" must be');
    expect(refused.stderr).toContain('a.yaml:3:');
  });
});

describe('environments', () => {
  const base = `kind: vars
vars: { MEM: 64MiB, STAGE: none, SIZE: small }
---
kind: profile
name: sized
description: $STAGE $SIZE
config: { limits.memory: $MEM, user.a: base, user.b: base }
devices: { root: { type: disk, path: /, pool: p1 } }
`;
  const files = {
    'stack.yaml': base,
    'overlays/prod.yaml':
      'kind: vars\npatch: true\nvars: { MEM: 1GiB }\n---\nkind: profile\nname: sized\npatch: true\nconfig: { user.a: prod, user.b: null }\ndevices: { root: { $patch: delete } }\n',
    'overlays/prod.vars.yaml': 'STAGE: prod\nSIZE: big\n',
    'overlays/staging/more.yaml': 'kind: profile\nname: extra\n',
    'overlays/staging/values.vars.yaml': 'STAGE: staging\n',
  };
  const shown = async (...more: readonly string[]): Promise<string> => {
    const run = await on('plan', '-f', join(dir, 'env'), ...more);
    expect(run.code, run.stderr).toBe(0);
    return run.stdout;
  };

  test('Documents and variables of an environment overlay the base', async () => {
    folder('env', files);
    const prod = await shown('--env', 'prod');
    expect(prod).toContain('description          = "prod big"');
    expect(prod).toContain('config.limits.memory = "1GiB"');
    expect(prod).toContain('config.user.a        = "prod"');
    expect(prod).not.toContain('user.b');
    expect(prod).not.toContain('devices');
    const varFile = folder('vars', { 'late.yaml': 'SIZE: huge\nSTAGE: file\n' });
    const late = await shown('--env=prod', '--var-file', join(varFile, 'late.yaml'), '--var', 'STAGE=line');
    expect(late).toContain('"line huge"');
    const staging = await shown('--env', 'staging', '--target', 'profile/extra');
    expect(staging).toContain('profile/extra');
  });

  test('An unknown environment names the known ones, and mistakes in environments have their own places', async () => {
    folder('env', files);
    const unknown = await on('plan', '-f', join(dir, 'env'), '--env', 'prd');
    expect([unknown.code, unknown.stderr]).toEqual([
      64,
      expect.stringContaining('unknown environment prd (did you mean prod?): the environments are prod, staging'),
    ]);
    const none = folder('bare', { 'stack.yaml': profile('web', '') });
    expect((await cli(['validate', none, '--env', 'prod'])).stderr).toContain('unknown environment prod: none in');
    folder('env', {
      'overlays/broken.yaml':
        'kind: vars\npatch: true\nvars: { MME: 1GiB }\n---\nkind: profile\nname: sizd\npatch: true\n---\nkind: profile\nname: sized\npatch: true\nconfig: { $patch: remove }\n',
      'overlays/broken.vars.yaml': 'kind: profile\n',
    });
    const broken = await cli(['validate', join(dir, 'env'), '--env', 'broken']);
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain('there is no variable MME to give another value (did you mean MEM?)');
    expect(broken.stderr).toContain('there is no profile/sizd to lay this over (did you mean profile/sized?)');
    expect(broken.stderr).toContain('$patch');
    expect(broken.stderr).toContain('this is a manifest and no file of variables');
    expect(broken.stderr).toMatch(/overlays\/broken\.yaml:3:\d+/);
    const missing = await cli(['validate', join(dir, 'env'), '--var-file', join(dir, 'nowhere.yaml')]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('does not exist')]);
  });
});
