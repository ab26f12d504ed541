// Directories that use one set name on one server: none deletes, prunes, changes or rolls back objects of another.
import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isSamePlace, placeInRepository } from '../../../reconciler/core/ownership/place.ts';
import { placeOf } from '../../../reconciler/cli/session/place.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { openMemoryDaemon, type MemoryDaemon } from '../../support/daemons/in-memory.ts';
import { call } from '../../support/daemons/daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let root = '';
let daemon: MemoryDaemon;
beforeEach(async () => {
  root = tempFolder('gtyp-');
  daemon = await openMemoryDaemon();
  expect(write('a', profile('web', 'of a')) + write('b', profile('web', 'of b'))).toBeTruthy();
});
afterEach(() => daemon.close());

const profile = (name: string, description: string): string =>
  `kind: profile\nname: ${name}\ndescription: ${description}\n`;

function write(directory: string, ...documents: readonly string[]): string {
  mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, directory, 'stack.yaml'), documents.join('---\n'));
  return join(root, directory);
}

const gantry = (verb: string, directory: string, ...more: readonly string[]): Promise<CliRun> =>
  cli([verb, '-f', join(root, directory), '--host', daemon.host, ...more], { env: { GANTRY_PLACE: '' } });
async function done(verb: string, directory: string, ...more: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await gantry(verb, directory, '-y', ...more);
  expect(code, stdout + stderr).toBe(0);
}
const descriptionOf = async (name: string): Promise<string | undefined> => {
  const { status, metadata } = await call(daemon, 'GET', `/1.0/profiles/${name}`);
  return status === 200 ? (metadata as { description: string }).description : undefined;
};
const placeA = (): string => `${hostname()}:${join(root, 'a')}`;

describe('an object that another directory declared', () => {
  test('is not destroyed, and its place is named', async () => {
    await done('apply', 'a');
    const refused = await gantry('destroy', 'b', '-y');
    expect(refused.code).toBe(4);
    expect(refused.stdout + refused.stderr).toContain(`profile/web was declared at ${placeA()}`);
    expect(refused.stdout + refused.stderr).toContain('--take-over');
    expect(await descriptionOf('web')).toBe('of a');
    await done('destroy', 'a');
    expect(await descriptionOf('web')).toBeUndefined();
  });

  test('is destroyed with --take-over', async () => {
    await done('apply', 'a');
    await done('destroy', 'b', '--take-over');
    expect(await descriptionOf('web')).toBeUndefined();
  });

  test('is not replaced, although it is as declared', async () => {
    await done('apply', 'a');
    write('b', profile('web', 'of a'));
    const refused = await gantry('apply', 'b', '-y', '--replace', 'profile/web', '--allow-recreate');
    expect(refused.code).toBe(4);
    expect(refused.stdout + refused.stderr).toContain('from here this plan would replace it');
  });

  test('is not changed; declared as it is, it stays as it is, and the next plans of both are empty', async () => {
    await done('apply', 'a');
    expect((await gantry('apply', 'b', '-y')).code).toBe(4);
    expect(await descriptionOf('web')).toBe('of a');
    write('b', profile('web', 'of a'));
    await done('apply', 'b');
    for (const directory of ['a', 'b'])
      expect((await gantry('plan', directory, '--detailed-exitcode')).code, directory).toBe(0);
    expect((await gantry('destroy', 'b', '-y')).code).toBe(4);
  });

  test('becomes an object of this directory with --take-over', async () => {
    await done('apply', 'a');
    await done('apply', 'b', '--take-over');
    expect(await descriptionOf('web')).toBe('of b');
    expect((await gantry('plan', 'b', '--detailed-exitcode')).code).toBe(0);
    expect((await gantry('apply', 'a', '-y')).code).toBe(4);
    await done('destroy', 'b');
  });

  test('is neither listed as left over nor pruned', async () => {
    await done('apply', 'a', '--set', 'shop');
    write('b', profile('db', 'of b'));
    await done('apply', 'b', '--set', 'shop');
    const plan = await gantry('plan', 'b', '--set', 'shop');
    expect(plan.stdout).not.toContain('profile/web');
    const pruned = await gantry('apply', 'b', '--set', 'shop', '--prune', '-y');
    expect(pruned.code).toBe(4);
    expect(pruned.stdout + pruned.stderr).toContain(placeA());
    expect(await descriptionOf('web')).toBe('of a');
  });

  test('is not rolled back', async () => {
    await done('apply', 'a');
    write('a', profile('web', 'of a, changed'));
    await done('apply', 'a');
    const refused = await gantry('rollback', 'b', '-y');
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining(placeA())]);
    expect(await descriptionOf('web')).toBe('of a, changed');
    await done('rollback', 'a');
    expect(await descriptionOf('web')).toBe('of a');
  });
});

describe('destroy of an object that the set does not own', () => {
  test('names the set and the place that own it, and exits with 4', async () => {
    await done('apply', 'a', '--set', 'team');
    const refused = await gantry('destroy', 'b', '-y');
    expect(refused.code).toBe(4);
    expect(refused.stdout + refused.stderr).toContain(`belongs to the set team (declared at ${placeA()})`);
    expect(await descriptionOf('web')).toBe('of a');
  });

  test('says that no set owns it, and exits with 4', async () => {
    await call(daemon, 'POST', '/1.0/profiles', { name: 'web', description: 'by hand', config: {}, devices: {} });
    const refused = await gantry('destroy', 'b', '-y');
    expect(refused.code).toBe(4);
    expect(refused.stdout + refused.stderr).toContain('belongs to no set');
    expect(await descriptionOf('web')).toBe('by hand');
  });

  test('deletes nothing and exits with 0 when nothing exists', async () => {
    const { code, stdout } = await gantry('destroy', 'b', '-y');
    expect([code, stdout]).toEqual([0, expect.stringContaining('none of the declared objects exists')]);
  });
});

test('records of a release without places keep working, and the next change adds the place', async () => {
  await done('apply', 'a');
  const { metadata } = await call(daemon, 'GET', '/1.0/profiles/web');
  const { config, description, devices } = metadata as {
    config: Record<string, string>;
    description: string;
    devices: object;
  };
  const record = JSON.parse(config['user.gantry.own.default'] ?? '{}') as Record<string, unknown>;
  expect(record['f']).toBe(placeA());
  const { f: _place, ...older } = record;
  const body = { config: { ...config, 'user.gantry.own.default': JSON.stringify(older) }, description, devices };
  await call(daemon, 'PUT', '/1.0/profiles/web', body);
  expect((await gantry('plan', 'a', '--detailed-exitcode')).code).toBe(0);
  write('a', profile('web', 'of a, changed'));
  await done('apply', 'a');
  expect((await gantry('destroy', 'b', '-y')).code).toBe(4);
});

describe('the place', () => {
  const clone = (name: string, url: string): string => {
    mkdirSync(join(root, name, '.git'), { recursive: true });
    writeFileSync(join(root, name, '.git/config'), `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`);
    return write(`${name}/hosts/web`, profile('web', 'x'));
  };

  test('is the repository and the folder in it, the same in each clone', async () => {
    const [one, other] = [
      clone('one', 'git@github.com:acme/infra.git'),
      clone('other', 'https://u:p@github.com/acme/infra'),
    ];
    const places = await Promise.all([one, other].map((folder) => placeOf([join(folder, 'stack.yaml')], {})));
    expect(new Set(places)).toEqual(new Set(['github.com/acme/infra//hosts/web']));
  });

  test('is the folder on this machine without a repository, and GANTRY_PLACE overrides both', async () => {
    expect(await placeOf([join(root, 'a/stack.yaml')], {})).toBe(placeA());
    expect(await placeOf([join(root, 'a/stack.yaml'), join(root, 'b/stack.yaml')], {})).toBe(`${hostname()}:${root}`);
    expect(await placeOf([join(root, 'a/stack.yaml')], { GANTRY_PLACE: 'ci' })).toBe('ci');
    expect(await placeOf(['-'], {})).toMatch(/^[^ ]+$/);
  });

  test.each([
    ['laptop:/srv/web', 'laptop:/srv/web', true],
    ['laptop:/srv', 'laptop:/srv/web', true],
    ['laptop:/srv/web', 'laptop:/srv/web2', false],
    ['laptop:/srv/web', 'desktop:/srv/web', false],
    [placeInRepository('ssh://git@host:22/infra.git', ''), placeInRepository('ssh://git@host:22/infra', 'web'), true],
    [placeInRepository('host:infra', 'web'), placeInRepository('host:infra', 'db'), false],
  ])('%s and %s: the same is %s', (one, other, same) => {
    expect([isSamePlace(one, other), isSamePlace(other, one)]).toEqual([same, same]);
  });
});
