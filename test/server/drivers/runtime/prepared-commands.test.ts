// Commands that are prepared while their client connects: nothing of them is in the container before they begin, and nothing remains.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RuntimeDriver } from '../../../../server/drivers/runtime/driver.ts';
import type { PreparedCommand, RuntimeCommand } from '../../../../server/drivers/runtime/command.ts';
import { readCommandLine } from '../../../../server/drivers/runtime/host/proc.ts';
import { type LxcHarness, lxcHarness, lxcTestsMissing } from '../../../support/drivers/runtime-lxc.ts';
import { until } from '../../../support/until.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await lxcTestsMissing();
if (missing !== undefined) console.log(`skipped: prepared commands: ${missing}`);

describe.skipIf(missing !== undefined)('a prepared command', () => {
  const never = new AbortController().signal;
  let harness: LxcHarness;
  let driver: RuntimeDriver;
  beforeAll(async () => {
    harness = await lxcHarness('p');
  });
  afterAll(async () => {
    await harness?.cleanup();
  });
  beforeEach(async () => {
    driver = await harness.open();
    await driver.start(await harness.prepare('c1'), never);
  });
  afterEach(async () => {
    if (driver.probe('c1').status !== 'stopped') await driver.stop('c1', { force: true }, never);
    await driver.forget('c1');
    await driver.close();
    expect(gates()).toEqual([]);
  });

  const pipes = (...argv: string[]): RuntimeCommand => ({ argv, stdio: { kind: 'pipes' } });
  const prepare = (command: RuntimeCommand): PreparedCommand => {
    const prepared = driver.prepareCommand?.('c1', command);
    if (prepared === undefined) throw new Error('this runtime prepares no commands');
    return prepared;
  };
  const gates = (): readonly string[] => {
    try {
      return readdirSync(harness.paths.lxcPath).filter((name) => name.startsWith('.gate-'));
    } catch {
      return [];
    }
  };
  /** Host programs of this driver's containers that wait at a gate. */
  const standing = (): readonly number[] =>
    readdirSync('/proc')
      .filter((name) => /^[0-9]+$/.test(name))
      .map(Number)
      .filter((pid) => readCommandLine(pid).includes(`-o ${harness.paths.lxcPath}/.gate-`));
  const inside = async (script: string): Promise<string> =>
    (await execIn(driver, 'c1', ['sh', '-c', script])).stdout.trim();
  const output = async (prepared: PreparedCommand): Promise<string> => {
    const process = await prepared.begin(never);
    process.stderr?.resume();
    let text = '';
    for await (const chunk of process.stdout ?? []) text += String(chunk);
    return `${text.trim()} ${await process.exited}`;
  };

  test('a prepared command is started on the host, but not in the container before it begins', async () => {
    const prepared = prepare(pipes('sh', '-c', 'touch /root/begun; echo yes; exit 3'));
    await until(() => standing().length === 1);
    expect(await inside('ls /root; ps -o args | grep "[b]egun"')).toBe('');
    expect(await output(prepared)).toBe('yes 3');
    expect(await inside('ls /root')).toBe('begun');
    await until(() => gates().length === 0);
  });

  test('a prepared command may begin before its program is ready', async () => {
    expect(await output(prepare(pipes('echo', 'at once')))).toBe('at once 0');
  });

  test('runs on a terminal too', async () => {
    const prepared = prepare({ argv: ['tty'], stdio: { kind: 'terminal', size: { columns: 80, rows: 24 } } });
    await until(() => standing().length === 1);
    expect(await output(prepared)).toMatch(/^\/dev\/(pts\/[0-9]+|console) 0$/);
  });

  test('a discarded command leaves no process and no gate', async () => {
    const prepared = prepare(pipes('touch', '/root/unwanted'));
    await until(() => standing().length === 1);
    prepared.discard();
    prepare(pipes('touch', '/root/unwanted')).discard();
    await until(() => standing().length === 0 && gates().length === 0);
    expect(await inside('ls /root')).toBe('');
  });

  test('a container frozen in between refuses the command', async () => {
    const prepared = prepare(pipes('true'));
    await until(() => standing().length === 1);
    await driver.freeze('c1');
    await expect(prepared.begin(never)).rejects.toMatchObject({ code: 'Failed' });
    await until(() => standing().length === 0);
    await driver.unfreeze('c1');
  });

  test('the command notices that its container has stopped, or runs in the restarted one', async () => {
    const [first, second] = [prepare(pipes('true')), prepare(pipes('ls', '/root'))];
    await until(() => standing().length === 2);
    await driver.stop('c1', { force: true }, never);
    await expect(first.begin(never)).rejects.toMatchObject({ code: 'NotFound' });
    await driver.start(await harness.prepare('c1'), never);
    await inside('touch /root/reborn');
    expect(await output(second)).toBe('reborn 0');
    await until(() => standing().length === 0);
  });

  test('the command starts without preparation if its program was killed, or too many wait', async () => {
    const prepared = prepare(pipes('echo', 'still'));
    await until(() => standing().length === 1);
    for (const pid of standing()) process.kill(pid, 'SIGKILL');
    // Its end was reported, too.
    await until(() => gates().length === 0);
    expect(await output(prepared)).toBe('still 0');
    const many = Array.from({ length: 40 }, (_, index) => prepare(pipes('echo', String(index))));
    await until(() => standing().length === 32);
    expect(await Promise.all(many.map(output))).toEqual(many.map((_, index) => `${index} 0`));
  });

  test('a prepared command that a killed daemon left at its gate is killed by the next one', async () => {
    const gate = `${harness.paths.lxcPath}/.gate-0-1`;
    execFileSync('mkfifo', [gate]);
    const attach = `GANTRY_ATTACH=1 lxc-attach -P ${harness.paths.lxcPath} -n c1 -o ${gate} -- touch /root/ran`;
    execFileSync('/bin/sh', ['-c', `${attach} &`], { stdio: 'ignore' });
    await until(() => standing().length === 1);
    const next = await harness.open();
    await until(() => standing().length === 0);
    expect(gates()).toEqual([]);
    await next.close();
    expect(await inside('ls /root')).toBe('');
  });
});
