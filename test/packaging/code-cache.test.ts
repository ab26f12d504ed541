// The one file and the code cache that a program starts from; the cache is written when the programs are built.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { version } from '../../server/api/version.ts';
import { cachedProgram, cacheOf, compile } from '../../server/lib/shared/code-cache/cached-program.ts';
import { buildPrograms, runProcess, type Programs } from '../support/cli/programs.ts';
import { tempFolder } from '../support/temp-folder.ts';

describe('a program in one file', () => {
  let folder: string;
  let entry: string;
  let file: string;
  beforeEach(() => {
    folder = tempFolder('gcc-');
    entry = pathToFileURL(join(folder, 'bin/program.js')).href;
    file = join(folder, 'code-cache/program.cjs');
    mkdirSync(join(folder, 'code-cache'));
    writeFileSync(
      file,
      '(function(module,require,__entry){module.exports={entry:__entry,sep:require("node:path").sep}})',
    );
  });
  const load = (): object | undefined => cachedProgram('program', entry);

  test('has the exports of the file, and looks from the entry', () => {
    writeFileSync(cacheOf(file), compile(file).createCachedData());
    expect(load()).toEqual({ entry, sep: '/' });
  });

  test('is not there without a cache for this version of Node.js', () => {
    writeFileSync(file.replace('cjs', 'v1.2.3-x64.cache'), 'x');
    expect(load()).toBeUndefined();
  });

  test('works with a damaged cache, which V8 ignores', () => {
    const cache = compile(file).createCachedData();
    for (const damaged of [Buffer.alloc(0), cache.subarray(0, 50), Buffer.from('garbage'.repeat(100))]) {
      writeFileSync(cacheOf(file), damaged);
      expect(load()).toEqual({ entry, sep: '/' });
    }
  });
});

describe('the built programs', () => {
  const versionsOf = async ({ gantry, gantryd }: Programs): Promise<readonly string[]> => {
    const ran = [gantry, gantryd].map((program) => runProcess([process.execPath, program, '--version']));
    return (await Promise.all(ran)).map(({ code, stdout, stderr }) => `${code} ${stdout}${stderr}`.trim());
  };

  test('start from the cache without the modules, and from the modules without the cache', async () => {
    const cached = buildPrograms();
    const bin = join(cached.root, 'dist/bin');
    const edges = [cached.gantry, cached.gantryd].map((program) => readFileSync(program, 'utf8')).join('');
    for (const name of readdirSync(bin))
      if (name.startsWith('chunk-') && !edges.includes(`from"./${name}"`) && !edges.includes(`import"./${name}"`))
        rmSync(join(bin, name));
    const inModules = buildPrograms();
    rmSync(join(inModules.root, 'dist/code-cache'), { recursive: true });
    expect(await versionsOf(cached)).toEqual([`0 Gantry ${version}`, `0 ${version}`]);
    expect(await versionsOf(inModules)).toEqual([`0 Gantry ${version}`, `0 ${version}`]);
  });

  test('import nothing by themselves, which code from a cache cannot', () => {
    const { root } = buildPrograms();
    for (const name of ['gantry.cjs', 'gantryd.cjs'])
      expect(readFileSync(join(root, 'dist/code-cache', name), 'latin1')).not.toMatch(/\bimport\((?:["'`(]|\w+\))/);
  });

  test.each([
    ['list', '--embedded', 'state', '--runtime', 'sim'],
    ['apply', 'one.yaml', '--embedded', 'state', '--runtime', 'sim', '--dry-run=server'],
  ])('run a daemon inside gantry: %s %s', async (...argv) => {
    const cwd = tempFolder('gcc-');
    writeFileSync(join(cwd, 'one.yaml'), 'kind: profile\nname: one\n');
    const ran = await runProcess([process.execPath, buildPrograms().gantry, ...argv], { cwd });
    expect(ran, ran.stderr).toMatchObject({ code: expect.toBeOneOf([0, 2]) });
  });
});
