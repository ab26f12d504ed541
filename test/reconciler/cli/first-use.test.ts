// Situations of a new user: help on a small terminal, a host that never answers, an interruption.
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processIo } from '../../../reconciler/cli/output/process-io.ts';
import { buildProgram } from '../../../reconciler/cli/program/program.ts';
import { cli } from '../../support/cli/io.ts';
import { tempFolder } from '../../support/temp-folder.ts';

test('A current folder that was deleted is said in words', async () => {
  const before = process.cwd();
  const folder = tempFolder('gantry-gone-');
  process.chdir(folder);
  rmSync(folder, { recursive: true });
  try {
    const run = await cli(['validate']);
    expect([run.code, run.stderr]).toEqual([
      1,
      expect.stringMatching(/^Error: the current folder no longer exists.*\n$/),
    ]);
  } finally {
    process.chdir(before);
  }
});

describe('help', () => {
  test('Help lists every command in a group, fits 80 columns, and gives valid examples', async () => {
    const help = await cli(['--help']);
    expect(help.code).toBe(0);
    const titles = help.stdout.match(/^\w.*:$/gm);
    expect(titles).toEqual([
      'Options:',
      'Change hosts:',
      'Inspect hosts:',
      'Controller:',
      'Manifests and tools:',
      'Access to servers:',
      'Clusters:',
      'Use containers and images:',
      'Commands:',
    ]);
    expect(help.stdout.split('Commands:').at(-1)?.trim()).toMatch(/^help +display help for command$/);
    const program = buildProgram(() => Promise.resolve());
    for (const command of program.commands) {
      const { code, stdout } = await cli([command.name(), '--help']);
      expect(code, command.name()).toBe(0);
      const wide = [...help.stdout.split('\n'), ...stdout.split('\n')].filter((line) => line.length > 80);
      expect([command.name(), wide]).toEqual([command.name(), []]);
      const flags = new Set(command.options.flatMap(({ long, short }) => [long, short]));
      const examples = stdout.split('Examples:\n')[1] ?? '';
      for (const flag of examples.replaceAll(/ -- .*/g, '').match(/ --?[a-z][a-z-]*/g) ?? [])
        expect([...flags], examples).toContain(flag.trim());
    }
  });

  test('A wrong command line points to the help of its verb, and help of a verb of two words is its own', async () => {
    expect((await cli(['snapshot', 'create'])).stderr).toContain('(see gantry snapshot create --help)');
    expect((await cli(['image', 'lost'])).stderr).toContain('(see gantry image --help)');
    expect((await cli(['lost'])).stderr).toContain('(see gantry --help)');
    const help = await cli(['help', 'image', 'list']);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: gantry image list\|ls /) });
    const lost = await cli(['help', 'image', 'lost']);
    expect([lost.code, lost.stderr]).toEqual([64, expect.stringContaining("unknown command 'lost'")]);
  });

  test('Help groups the flags of an apply by topic', async () => {
    const { stdout } = await cli(['help', 'apply']);
    expect(stdout.match(/^\w.*:$/gm)?.join(' ')).toBe(
      'Arguments: Manifests: Selection: Execution: Connection: Several hosts: Output: Options: Examples:',
    );
  });
});

describe('an interruption', () => {
  test('The first two interruptions are handled, and a third one ends the process', () => {
    const before = process.listenerCount('SIGTERM');
    let count = 0;
    const stop = processIo().onInterrupt(() => void (count += 1));
    expect(process.listenerCount('SIGTERM')).toBe(before + 1);
    process.emit('SIGTERM');
    expect([count, process.listenerCount('SIGTERM')]).toEqual([1, before + 1]);
    process.emit('SIGINT');
    expect([count, process.listenerCount('SIGTERM')]).toEqual([2, before]);
    stop();
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});

describe('a host that takes connections and never answers', () => {
  const dir = tempFolder('gtex-');
  let server: Server;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    server = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(join(dir, 'mute.socket'), resolve));
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  test('A host that never answers is reported during the wait, and named with exit code 7 when the time is over', async () => {
    const host = `unix://${dir}/mute.socket`;
    const run = await cli(['get', 'profile', '--host', host, '--timeout', '1s']);
    expect([run.code, run.stderr]).toEqual([
      7,
      expect.stringContaining(`The run took longer than --timeout 1s, and ${host} had not answered\n`),
    ]);
    const json = await cli(['get', 'profile', '--host', host, '--timeout', '1s', '--json']);
    expect([json.code, json.stderr]).toEqual([7, '']);
    let interrupt = (): void => {};
    const stopped = cli(['get', 'profile', '--host', host], {
      interrupts: (given) => void (interrupt = given),
      onStderr: (text) => void (text.includes('still waiting') && interrupt()),
    });
    const { code, stderr } = await stopped;
    expect([code, stderr.split('\n')[0]]).toEqual([130, `${host} does not answer yet; still waiting`]);
  });
});
