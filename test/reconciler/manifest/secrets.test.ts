// References to secrets in the environment, files and sops: resolved, and in no output of gantry.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Json } from '../../../reconciler/core/documents/document.ts';
import { resolveSecrets, type ResolvedSecrets } from '../../../reconciler/manifest/variables/secret-references.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { textsBelow } from '../../support/texts-below.ts';

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-secrets-')));

const decrypted: string[] = [];
const resolve = (value: Json, read = true): Promise<ResolvedSecrets> =>
  resolveSecrets(
    value,
    {
      folder,
      env: { DB_PASSWORD: 'hunter2' },
      decrypt: async (file) => {
        decrypted.push(file);
        return '{"db": {"password": "from sops", "port": 5432}}';
      },
    },
    read,
  );

describe('references', () => {
  test('are resolved anywhere in a document, and their paths are recorded', async () => {
    writeFileSync(join(folder, 'pw'), 'from file\n');
    const { value, secrets, findings } = await resolve({
      config: { 'environment.A': { from_env: 'DB_PASSWORD' }, 'user.b': { from_file: 'pw' } },
      devices: { d: { type: 'proxy', listen: { from_sops: 's.yaml#db.password' } } },
      list: [{ from_sops: 's.yaml#db.port' }],
      plain: { from_env: 'DB_PASSWORD', other: 1 },
    });
    expect(findings).toEqual([]);
    expect(value).toEqual({
      config: { 'environment.A': 'hunter2', 'user.b': 'from file' },
      devices: { d: { type: 'proxy', listen: 'from sops' } },
      list: ['5432'],
      plain: { from_env: 'DB_PASSWORD', other: 1 },
    });
    expect(secrets).toEqual(['config.environment.A', 'config.user.b', 'devices.d.listen', 'list.0']);
    expect(decrypted).toEqual([join(folder, 's.yaml')]);
  });

  test('references that cannot be resolved are reported with a remedy', async () => {
    mkdirSync(join(folder, 'dir'));
    const one = async (value: Json): Promise<string> => {
      const { findings } = await resolve({ config: { a: value } });
      return findings.map(({ path, message, remedy }) => `${path}: ${message}; ${remedy ?? ''}`).join();
    };
    expect(await one({ from_env: 'DB_PASWORD' })).toContain(
      'the environment has no DB_PASWORD (did you mean DB_PASSWORD?)',
    );
    expect(await one({ from_file: 'none' })).toContain('paths are relative to the manifest');
    expect(await one({ from_file: 'dir' })).toContain('is not a file');
    expect(await one({ from_sops: 's.yaml#db.user' })).toContain('s.yaml has no db.user');
    expect(await one({ from_sops: 's.yaml#db' })).toContain('db is no single value');
    expect(await one({ from_env: 5 })).toContain('from_env must be a text');
  });

  test('are not resolved by an offline load', async () => {
    const { value, findings } = await resolve({ a: { from_env: 'NOT_SET' } }, false);
    expect([value, findings]).toEqual([{ a: 'unread' }, []]);
  });

  test('to a missing program name it', async () => {
    writeFileSync(join(folder, 'x.yaml'), 'a: b\n');
    const { findings } = await resolveSecrets(
      { a: { from_sops: 'x.yaml#a' } },
      { folder, env: { PATH: folder } },
      true,
    );
    expect(findings[0]?.message).toContain('the program sops is not installed');
  });
});

describe('files that gantry writes', () => {
  let daemon: TestDaemon;
  beforeAll(async () => (daemon = await makeDaemon({ runtime: 'sim' })));
  afterAll(() => daemon.cleanUp());

  test('never contain a secret under any key: plans, saved plans, journals, ownership', async () => {
    const state = join(folder, 'state');
    const env = { NOTE: 'very-hidden-1', XDG_STATE_HOME: state };
    const shown: string[] = [];
    const run = async (over: object, ...argv: string[]): Promise<CliRun> => {
      const ran = await cli([...argv, '--host', `unix://${daemon.socketPath}`], { env: { ...env, ...over } });
      shown.push(ran.stdout, ran.stderr);
      return ran;
    };
    const file = join(folder, 'main.yaml');
    writeFileSync(
      file,
      'kind: profile\nname: hidden\nconfig:\n  user.note: { from_env: NOTE }\n  user.plain: seen\ndevices:\n  d: { type: unix-char, path: /dev/null, source: /dev/zero }\n',
    );
    const saved = join(folder, 'plan.json');
    expect((await run({}, 'plan', '-f', file, '-out', saved)).stdout).toContain('config.user.note  = (secret)');
    await run({}, 'plan', '-f', file, '-o', 'json');
    await run({}, 'plan', '-f', file, '-json');
    expect(await run({}, 'apply', '-y', saved)).toMatchObject({ code: 0 });
    expect(await daemon.get('/1.0/profiles/hidden')).toMatchObject({
      config: { 'user.note': 'very-hidden-1', 'user.plain': 'seen' },
    });
    expect(await run({}, 'plan', '-f', file, '-detailed-exitcode')).toMatchObject({ code: 0 });
    expect((await run({ NOTE: 'very-hidden-2' }, 'plan', '-f', file)).stdout).toContain(
      '~ config.user.note = (secret) -> (secret)',
    );
    await run({ NOTE: 'very-hidden-2' }, 'plan', '-f', file, '-o', 'json');
    await run({ NOTE: 'very-hidden-2' }, 'apply', '-y', '-f', file, '-json');
    await run({}, 'validate', '-f', file).catch(() => {});
    const { config } = (await daemon.get('/1.0/profiles/hidden')) as { config: Record<string, string> };
    const notes = Object.entries(config).filter(([key]) => key.startsWith('user.gantry.'));
    expect(notes).not.toEqual([]);
    const kept = [...shown, readFileSync(saved, 'utf8'), JSON.stringify(notes), ...textsBelow(state)];
    expect(kept.filter((text) => text.includes('very-hidden'))).toEqual([]);
    expect(await cli(['validate', '-f', file])).toMatchObject({ code: 0 });
    expect((await cli(['plan', '-f', file, '--host', `unix://${daemon.socketPath}`])).stderr).toContain(
      'the environment has no NOTE',
    );
  });
});
