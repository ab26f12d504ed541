// A plan with refused parts is not applied; with --partial the rest is applied, and history records both.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
let dir: string;
let stack: string;
useDaemon((given) => void (daemon = given));
beforeEach(async () => {
  dir = tempFolder('grp-');
  stack = join(dir, 'stack.yaml');
  write('one', '');
  expect((await gantry('apply')).code).toBe(0);
});

const gantry = (verb: string, ...more: readonly string[]): Promise<CliRun> =>
  cli([verb, '-f', stack, '-y', ...more], { env: { GANTRY_SOCKET: daemon.socketPath } });
const look = (...words: readonly string[]): Promise<CliRun> =>
  cli(words, { env: { GANTRY_SOCKET: daemon.socketPath } });

/** The container needs a recreation for its root disk, which is not permitted; the profile can change at once. */
function write(text: string, root: string): void {
  writeFileSync(
    stack,
    `kind: storage_pool\nname: p1\ndriver: dir\n---\nkind: storage_pool\nname: p2\ndriver: dir\n---\n` +
      `kind: profile\nname: small\nconfig: { user.text: ${text} }\ndevices: { root: { type: disk, path: /, pool: p1 } }\n---\n` +
      `kind: container\nname: c1\nprofiles: [small]\nsource: { type: none }\nstate: stopped\n${root}`,
  );
}
const moved = 'devices: { root: { type: disk, path: /, pool: p2 } }\n';
const text = async (): Promise<string> =>
  ((await daemon.get('/1.0/profiles/small')) as { config: Record<string, string> }).config['user.text'] ?? '';

describe('a plan with one refused part', () => {
  test('is not applied at all: exit code 4, no change, no new revision', async () => {
    write('two', moved);
    const refused = await gantry('apply');
    expect(refused.code, refused.stderr).toBe(4);
    expect(refused.stdout).toContain('Refused: container/c1 would be deleted and created again');
    expect(refused.stderr).toContain(
      'Error: One part of the plan is refused (container/c1), so nothing is done: follow the advice for each, or apply the rest with --partial',
    );
    expect(refused.stdout).not.toContain('Apply');
    expect(await text()).toBe('one');
    expect(JSON.parse((await look('history', '-o', 'json')).stdout)).toHaveLength(1);
  });

  test('is applied without that part with --partial, with a note in output and history, and exits with 4', async () => {
    write('two', moved);
    const done = await gantry('apply', '--partial');
    expect(done.code, done.stderr).toBe(4);
    expect(done.stdout).toContain('Apply done in part: 0 added, 1 changed, 0 destroyed, 1 refused.');
    expect(await text()).toBe('two');
    expect(JSON.parse((await look('history', '-o', 'json')).stdout)[0]).toMatchObject({
      number: 2,
      outcome: 'partial',
      refused: ['container/c1'],
      changes: ['~profile/small'],
      summary: { add: 0, change: 1, destroy: 0 },
    });
    expect((await look('history')).stdout).toMatch(/^2 .* \+0 ~1 -0 +partial/m);
    expect((await look('history', 'show', '2')).stdout).toContain('#   refused: container/c1');
    // A partial revision is no target for a rollback.
    write('three', '');
    expect((await gantry('apply')).code).toBe(0);
    expect((await look('rollback', '-y')).code).toBe(0);
    expect(await text()).toBe('one');
  });

  test('is refused as a saved plan and as a destroy, too', async () => {
    write('two', moved);
    const kept = join(dir, 'plan');
    expect((await look('plan', '-f', stack, '--out', kept)).code).toBe(4);
    expect((await look('apply', kept)).code).toBe(4);
    expect(await text()).toBe('one');
    expect((await look('apply', kept, '--partial')).code).toBe(4);
    expect(await text()).toBe('two');
    write('two', 'manage: { protect: true }\n');
    expect((await gantry('apply')).code).toBe(0);
    expect((await gantry('destroy')).code).toBe(4);
    expect((await daemon.call('GET', '/1.0/storage-pools/p2')).status).toBe(200);
    const destroyed = await gantry('destroy', '--partial');
    expect([destroyed.code, destroyed.stdout]).toEqual([4, expect.stringContaining('Destroy done in part:')]);
    expect((await daemon.call('GET', '/1.0/storage-pools/p2')).status).toBe(404);
    expect((await daemon.call('GET', '/1.0/containers/c1')).status).toBe(200);
  });

  test('is skipped by run with the reason, until it is permitted', async () => {
    write('two', moved);
    let said = '';
    let interrupt = (): void => {};
    const running = cli(['run', '-f', stack, '-y', '--interval', '1s'], {
      env: { GANTRY_SOCKET: daemon.socketPath },
      onStderr: (chunk) => (said += chunk),
      interrupts: (given) => (interrupt = given),
    });
    await until(() => said.includes('so nothing is done'));
    expect(await text()).toBe('one');
    write('two', '');
    await until(async () => (await text()) === 'two');
    interrupt();
    expect((await running).code).toBe(0);
  });
});
