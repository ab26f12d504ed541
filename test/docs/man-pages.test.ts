// The manual pages: every verb and flag has its place, groff has nothing to warn of, and man shows them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { manPages } from '../../docs/generate/man-pages.ts';
import { knownVerbs } from '../../reconciler/cli/program/verbs.ts';
import { tempFolder } from '../support/temp-folder.ts';

const isMissing = (program: string): boolean => {
  const missing = spawnSync(program, ['--version']).status !== 0;
  if (missing) console.log(`skipped: the manual pages in ${program}: it is not installed (apt-get install man-db)`);
  return missing;
};

const pages = manPages();
const folder = tempFolder('gantry-man-');
beforeAll(() => {
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});

const shown = (...words: readonly string[]): string => {
  const env = { ...process.env, MANWIDTH: '200', LC_ALL: 'C.UTF-8', MAN_KEEP_FORMATTING: '' };
  return spawnSync('man', ['-M', folder, '-P', 'cat', ...words], { encoding: 'utf8', env }).stdout;
};

describe('manual pages', () => {
  test('each verb has a page that names its arguments and flags', () => {
    for (const { name, flags, args = [] } of knownVerbs.verbs) {
      const page = (pages.get(`man1/gantry-${name.replaceAll(' ', '-')}.1`) ?? '').replaceAll('\\-', '-');
      const shownFlags = Object.values(flags).filter(({ isHidden }) => isHidden !== true);
      for (const written of [...shownFlags.map((flag) => flag.written), ...args.map(([word]) => word)])
        expect(page, name).toContain(written);
    }
  });

  test.skipIf(isMissing('groff'))('groff has nothing to warn of on any page', () => {
    const files = [...pages.keys()].map((path) => join(folder, path));
    const { status, stderr } = spawnSync('groff', ['-man', '-ww', '-z', '-Kutf8', '-Tutf8', ...files], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });

  test.skipIf(isMissing('man'))('man shows the programs, a verb, and the keys of gantry.yaml', () => {
    expect(shown('gantry')).toMatch(/gantry-apply\(1\)\s+Change|gantry-apply\(1\)/);
    expect(shown('gantry-apply')).toMatch(/--auto-approve/);
    expect(shown('gantryd')).toMatch(/--state-dir DIR\s+Where everything the daemon keeps lives/);
    expect(shown('5', 'gantry.yaml')).toMatch(/sets\[\]\.retry\.first \(text or number\)/);
  });
});
