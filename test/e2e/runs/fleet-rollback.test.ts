// Several hosts roll back together to one rollout, also when the last one did not reach every host.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { previousOfFleet } from '../../../reconciler/core/history/fleet-revision.ts';
import type { Revision } from '../../../reconciler/core/history/revisions.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { sharedDaemons } from '../../support/daemons/emptied.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const shared = sharedDaemons();
let daemons: readonly TestDaemon[] = [];
let dir: string;
beforeEach(async () => {
  dir = tempFolder('gfr-');
  daemons = await shared(3);
  const hosts = daemons.map(({ socketPath }, index) => `- { name: h${index + 1}, address: "unix://${socketPath}" }`);
  writeFileSync(join(dir, 'hosts.yaml'), `kind: hosts\nhosts:\n${hosts.join('\n')}\n`);
});

const gantry = (...words: readonly string[]): Promise<CliRun> => cli([...words, '--hosts', join(dir, 'hosts.yaml')]);

async function apply(text: string, ...more: readonly string[]): Promise<void> {
  writeFileSync(join(dir, 'stack.yaml'), `kind: profile\nname: p\nconfig: { user.text: ${text} }\n`);
  const run = await gantry('apply', '-f', join(dir, 'stack.yaml'), '-y', ...more);
  expect(run.code, run.stderr).toBe(0);
}

const texts = (): Promise<readonly string[]> =>
  Promise.all(
    daemons.map(
      async (daemon) =>
        ((await daemon.get('/1.0/profiles/p')) as { config: Record<string, string> }).config['user.text'] ?? '',
    ),
  );

describe('rollback of a fleet', () => {
  test('rollback of a fleet without a number returns all hosts to one rollout, although the last one did not reach all of them', async () => {
    await apply('one');
    await apply('two');
    await apply('three', '--host', 'h1', '--host', 'h2');
    const back = await gantry('rollback', '-y');
    expect(back.code, back.stderr).toBe(0);
    expect(back.stderr).toContain('Rolling back all hosts to the rollout of');
    expect(await texts()).toEqual(['two', 'two', 'two']);
  });

  test('accepts a commit or a message instead of a number, also where the numbers differ', async () => {
    await apply('other', '--host', 'h3', '-m', 'alone');
    await apply('one', '-m', 'release 1');
    await apply('two', '-m', 'release 2');
    const back = await gantry('rollback', 'release 1', '-y');
    expect(back.code, back.stderr).toBe(0);
    expect(await texts()).toEqual(['one', 'one', 'one']);
    const unknown = await gantry('rollback', 'release 9', '-y');
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('No host has a revision with the commit or message "release 9"'),
    ]);
    const single = await cli(['rollback', 'release 2', '-y', '--host', `unix://${daemons[0]?.socketPath}`]);
    expect(single.code, single.stderr).toBe(0);
    expect(await texts()).toEqual(['two', 'one', 'one']);
  });

  test('lists the hosts without the rollout and changes nothing; with --keep-going it skips those hosts', async () => {
    await apply('one', '-m', 'release 1', '--host', 'h1', '--host', 'h2');
    await apply('two', '-m', 'release 2');
    const refused = await gantry('rollback', '-y');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('These hosts lack it: h3');
    expect(refused.stdout + refused.stderr).toContain('h3 has no revision of the rollout of');
    expect(await texts()).toEqual(['two', 'two', 'two']);
    expect((await gantry('rollback', '-y', '--keep-going')).code).toBe(1);
    expect(await texts()).toEqual(['one', 'one', 'two']);
  });
});

test('matches revisions of older versions by commit and message; without either each host uses its own last one', () => {
  const revision = (number: number, more: Partial<Revision>): Revision => ({
    number,
    run: `r${number}`,
    at: `2030-01-0${number}T00:00:00Z`,
    who: 'a@b',
    mode: 'apply',
    outcome: 'done',
    counts: { add: 0, change: 0, destroy: 0 },
    changes: [],
    documents: `d${number}`,
    images: {},
    ...more,
  });
  const [one, two] = [revision(1, { commit: 'c1' }), revision(2, { commit: 'c2' })];
  expect(
    previousOfFleet([
      { host: 'a', revisions: [one, two] },
      { host: 'b', revisions: [one] },
    ]),
  ).toMatchObject({ title: 'the rollout of 2030-01-01T00:00:00Z (c1)', lacking: [] });
  expect(previousOfFleet([{ host: 'a', revisions: [revision(1, {}), revision(2, {})] }])).toBeUndefined();
  const failed = revision(2, { rollout: 'x', outcome: 'failed' });
  const choice = previousOfFleet([
    {
      host: 'a',
      revisions: [revision(1, { rollout: 'w' }), revision(2, { rollout: 'x' }), revision(3, { rollout: 'y' })],
    },
    { host: 'b', revisions: [revision(1, { rollout: 'w' }), failed, revision(3, { rollout: 'y' })] },
  ]);
  expect([...(choice?.numbers ?? [])]).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
});
