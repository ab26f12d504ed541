// Where the source of a mount may be, whatever links lead there. Needs no privileges and makes no mounts.
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadLibc } from '../../../../server/drivers/runtime/host/syscalls.ts';
import { holdSource } from '../../../../server/drivers/runtime/mounts/held-source.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const loaded = await loadLibc();
if (loaded === undefined) console.log('skipped: sources of mounts: there is no koffi for this platform');

describe.skipIf(loaded === undefined)('the source of a mount', () => {
  const libc = loaded as NonNullable<typeof loaded>;
  const base = tempFolder('gantry-held-');
  const at = (path: string): string => join(base, path);
  beforeAll(() => {
    mkdirSync(at('team/real'), { recursive: true });
    mkdirSync(at('team2'));
    mkdirSync(at('outside'));
    for (const dir of ['team/real', 'team2', 'outside']) writeFileSync(at(`${dir}/word`), dir);
    symlinkSync('real', at('team/inner'));
    symlinkSync('../outside', at('team/outer'));
    symlinkSync('../team2', at('team/beside'));
    symlinkSync('/proc/self/root', at('team/magic'));
    symlinkSync('team', at('alias'));
  });

  const wordBelow = (source: string, within: readonly string[] | undefined): string => {
    const held = holdSource(libc, source, within);
    try {
      return readFileSync(join(held.path, 'word'), 'utf8');
    } finally {
      held.close();
    }
  };

  test('lies below an allowed directory, also by a link', () => {
    for (const source of ['team/real', 'team/inner', 'alias/inner'])
      expect(wordBelow(at(source), [at('team')])).toBe('team/real');
    expect(wordBelow(at('team/real'), [at('nowhere'), at('alias')])).toBe('team/real');
    expect(wordBelow(at('team2'), ['/'])).toBe('team2');
  });

  test('the source of a mount that a link leads out of is refused, with its name', () => {
    for (const source of ['team/outer', 'team/beside', 'outside', 'team2'])
      expect(() => holdSource(libc, at(source), [at('team')])).toThrow(
        `Cannot show ${at(source)} of the host: it leads out of ${at('team')}`,
      );
  });

  test('is not reached through the root of a process, which may be that of a container', () => {
    expect(() => holdSource(libc, at(`team/magic${base}/team/real`), [at('team')])).toThrow(/Cannot take/);
  });

  test('a held source stays the same when a link is replaced later', () => {
    symlinkSync('real', at('team/changing'));
    const held = holdSource(libc, at('team/changing'), [at('team')]);
    try {
      rmSync(at('team/changing'));
      symlinkSync('../outside', at('team/changing'));
      expect(readFileSync(join(held.path, 'word'), 'utf8')).toBe('team/real');
    } finally {
      held.close();
    }
    expect(() => holdSource(libc, at('team/changing'), [at('team')])).toThrow(/leads out/);
  });

  test('the source may be anywhere without a list of directories', () => {
    expect(wordBelow(at('team/outer'), undefined)).toBe('outside');
  });
});
