// The demo, started as a user starts it: on real containers as root, on the simulation as an unprivileged user. It leaves nothing
// behind.
import { chownSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { buildPrograms, runProcess, type Ran } from '../../support/cli/programs.ts';
import { hostParts, nothing, withRealNetwork } from '../../support/hosts/remains.ts';
import { processSlowness } from '../../support/hosts/slowness.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = await realRuntimeMissing();
const isRoot = process.getuid?.() === 0;
if (!isRoot)
  console.log('the demo without rights runs as the user of this test, since changing to another one needs root');

const programs = buildPrograms();

/** `npm run demo` with a separate home and directory for temporary files. */
async function demo(
  user: number | undefined,
): Promise<{ readonly ran: Ran; readonly left: readonly string[]; readonly state: string }> {
  const home = tempFolder('gdemo-');
  if (user !== undefined) chownSync(home, user, user);
  try {
    const env = { HOME: home, TMPDIR: home, npm_config_cache: join(home, 'npm'), npm_config_update_notifier: 'false' };
    const ran = await runProcess(['npm', 'run', 'demo'], {
      cwd: programs.root,
      env,
      ...(user === undefined ? {} : { user }),
    });
    // Directories of npm; the last one exists from Node 22 on.
    const left = readdirSync(home).filter((name) => !['npm', '.npm', 'node-compile-cache'].includes(name));
    return { ran, left, state: /--state-dir (\S+)/.exec(ran.stdout)?.[1] ?? '' };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function expectStory({ ran, left }: Awaited<ReturnType<typeof demo>>): void {
  expect(ran.stderr + ran.stdout, 'the demo failed').toContain('Done in');
  expect(ran.code).toBe(0);
  expect(ran.elapsedMs).toBeLessThan(60_000 * processSlowness());
  const outcomes = [...ran.stdout.matchAll(/^(?:Apply|Destroy|No changes|Plan).*$/gm)].map(([line]) => line);
  expect(outcomes).toEqual([
    'Plan: 7 to add, 0 to change, 0 to destroy',
    'Apply complete! 7 added, 0 changed, 0 destroyed.',
    'No changes: all 7 declared objects are as declared.',
    'Plan: 0 to add, 1 to change, 0 to destroy',
    'Plan: 0 to add, 1 to change, 0 to destroy',
    'Apply complete! 0 added, 1 changed, 0 destroyed.',
    'No changes: all 7 declared objects are as declared.',
    'Plan: 0 to add, 0 to change, 7 to destroy',
    'Destroy complete! 0 added, 0 changed, 7 destroyed.',
  ]);
  expect(left, 'left in the directory for temporary files').toEqual([]);
}

describe('npm run demo', () => {
  test.skipIf(missing !== undefined)(
    'creates and removes everything on real containers',
    { timeout: 300_000 },
    async () => {
      await withRealNetwork('quick0', async () => {
        const story = await demo(undefined);
        expectStory(story);
        expect(story.ran.stdout).toContain('runs on the lxc runtime');
        // Another test may have the subnet of the example.
        const shown = programs.replaced.documented(story.ran.stdout);
        expect(shown).toMatch(/I am web, process 1 is init\n.*inet 10\.123\.0\./);
        expect(shown).toMatch(/I am db, process 1 is init\n.*inet 10\.123\.0\./);
        expect(hostParts(story.state, ['quick0'])).toEqual(nothing);
      });
    },
  );

  test('creates and removes everything on the simulation for an unprivileged user', async () => {
    const story = await demo(isRoot ? 65534 : undefined);
    expectStory(story);
    expect(story.ran.stdout).toContain('runs on the sim runtime');
  });
});
