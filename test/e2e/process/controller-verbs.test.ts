// How long each verb of the controller takes as a program, as a script calls it: a set of 100 objects on two hosts, the best of three tries.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Overview, SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { buildPrograms, runProcess, type Programs } from '../../support/cli/programs.ts';
import { killed, listening, spawnController, type ControllerProcess } from '../../support/controller/process.ts';
import { openControllerWorld, profileText, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';

const token = 'bob-with-a-token-of-forty-characters-or-so';
const limitMs = 1000;
const tries = 3;
let world: ControllerWorld;
let repository: Repository;
let programs: Programs;
let running: ControllerProcess;
let url = '';
let first = '';

const profiles = (count: number, note: string): string =>
  Array.from({ length: count }, (_, at) => profileText(`p${at}`, { 'user.note': note })).join('---\n');
const config = (): string => `controller:
  listen: 127.0.0.1:0
  auth: { tokens: [{ name: bob, role: operate, file: token, mails: [bob@example.org] }] }
hosts: { file: hosts.yaml }
sources: [{ name: site, git: { url: "file://${repository.bare}", branch: main, interval: 200ms } }]
sets:
  - { name: web, source: site, path: web.yaml }
  - { name: asked, source: site, path: asked.yaml, hosts: h1, approval: { for: delete }, prune: {} }
`;

beforeAll(async () => {
  programs = buildPrograms();
  world = await openControllerWorld(2);
  repository = new Repository(world.folder);
  await writeFile(join(world.folder, 'token'), token, { mode: 0o600 });
  await writeFile(join(world.folder, 'gantry.yaml'), config());
  first = repository.commit({ 'web.yaml': profiles(50, 'one'), 'asked.yaml': asked(tries) });
  running = spawnController(programs.gantry, join(world.folder, 'gantry.yaml'));
  url = await listening(running);
  await becomes('web', isAt(first));
  await becomes('asked', ({ status }) => status === 'synced');
  const second = repository.commit({ 'web.yaml': profiles(50, 'two') });
  await becomes('web', isAt(second));
  repository.git('checkout', '--quiet', '-b', 'more');
  repository.commit({ 'web.yaml': profiles(50, 'three') }, 'More', 'more');
  repository.git('checkout', '--quiet', 'main');
}, 240_000);
afterAll(async () => {
  if (running !== undefined) await killed(running.child);
  await world?.close();
});

/** The base and `count` profiles that are deleted one after the other. */
const asked = (count: number): string =>
  Array.from({ length: count + 1 }, (_, at) => profileText(`a${at}`, { 'user.note': 'x' })).join('---\n');
const setNow = async (name: string): Promise<SetStatus> => {
  const answer = await fetch(`${url}/api/v1/overview`, { headers: { authorization: `Bearer ${token}` } });
  return ((await answer.json()) as Overview).sets.find((one) => one.name === name) ?? expect.fail(`no set ${name}`);
};
const isAt =
  (revision: string) =>
  ({ status, hosts }: SetStatus): boolean =>
    status === 'synced' && hosts.every(({ appliedRevision }) => appliedRevision === revision);
const becomes = (name: string, isSo: (set: SetStatus) => boolean): Promise<unknown> =>
  until(async () => isSo(await setNow(name)), waitMs).catch(async () =>
    expect.fail(`${JSON.stringify(await setNow(name))} ${running.log()}`),
  );
interface Case {
  readonly words: () => readonly string[];
  readonly says: string;
  /** Default 0. */
  readonly exits?: number;
  readonly before?: (at: number) => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
}

interface Timed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly byClockMs: number;
  readonly workedMs: number;
}

/** A small shell starts and times the program: forking this large process costs more than the program. */
async function timed(words: readonly string[]): Promise<Timed> {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@"';
  const { code, stdout, stderr } = await runProcess(['bash', '-c', script, 'bash', process.execPath, ...words]);
  const lines = stderr.trimEnd().split('\n');
  const [byClock = NaN, user = NaN, system = NaN] = (lines.pop() ?? '').split(' ').map((text) => 1000 * Number(text));
  return { code, stdout, stderr: lines.join('\n'), byClockMs: byClock, workedMs: user + system };
}

const run = (words: readonly string[]): Promise<Timed> =>
  timed([programs.gantry, 'controller', ...words, '--url', url, '--token-file', join(world.folder, 'token')]);
const cases: Readonly<Record<string, Case>> = {
  diff: { words: () => ['diff', 'web'], says: '' },
  history: { words: () => ['history', 'web'], says: 'commit' },
  logs: { words: () => ['logs', 'web'], says: '' },
  plan: { words: () => ['plan', 'web', '--branch', 'more'], says: 'profile/p49' },
  explain: { words: () => ['explain', 'web'], says: 'web' },
  sync: { words: () => ['sync', 'web'], says: 'is compared and applied now' },
  suspend: {
    words: () => ['suspend', 'web', '--reason', 'measured'],
    says: 'is left alone',
    after: () => run(['resume', 'web']),
  },
  resume: {
    before: () => run(['suspend', 'web', '--reason', 'measured']),
    words: () => ['resume', 'web'],
    says: 'is resumed',
  },
  rollback: {
    words: () => ['rollback', 'web', first, '--reason', 'measured'],
    says: 'goes back to',
    after: () => run(['resume', 'web']),
  },
  'diff with 100 changes': {
    before: async (at) => {
      if (at > 0) return;
      await run(['suspend', 'web', '--reason', 'measured']);
      repository.commit({ 'web.yaml': profiles(50, 'four') });
      await becomes('web', ({ hosts }) => hosts.every(({ objects }) => objects.synced === 0));
    },
    words: () => ['diff', 'web'],
    says: 'p49',
    exits: 1,
  },
  approve: {
    before: async (at) => {
      repository.commit({ 'asked.yaml': asked(tries - 1 - at) });
      await becomes('asked', ({ approvalGate }) => approvalGate !== undefined);
    },
    words: () => ['approve', 'asked', '--reason', 'measured'],
    says: 'It is approved until',
    after: () => becomes('asked', ({ status, approvalGate }) => status === 'synced' && approvalGate === undefined),
  },
};

test('each verb answers a script within a second', async () => {
  const figures: (Pick<Timed, 'byClockMs' | 'workedMs'> & { readonly name: string; readonly load: number })[] = [];
  for (const [name, { words, says, exits = 0, before, after }] of Object.entries(cases)) {
    for (let at = 0; at < tries; at += 1) {
      await before?.(at);
      // How many times as long as its own work a program takes here, since others use the processors, too.
      const bare = await timed(['-e', '0']);
      const { code, stdout, stderr, ...times } = await run(words());
      expect({ name, code, stderr, says: stdout.includes(says) }, stdout).toEqual({
        name,
        code: exits,
        stderr: '',
        says: true,
      });
      figures.push({ name, ...times, load: Math.max(1, bare.byClockMs / bare.workedMs) });
      await after?.();
    }
  }
  const best = Object.keys(cases).map((name) => {
    const own = figures.filter((one) => one.name === name);
    return {
      name,
      byClockMs: Math.min(...own.map((one) => one.byClockMs)),
      workedMs: Math.min(...own.map((one) => one.workedMs)),
    };
  });
  const load = Math.max(...figures.map((one) => one.load));
  for (const { name, byClockMs, workedMs } of best)
    console.log(`gantry controller ${name}: ${byClockMs} ms by the clock, ${workedMs} ms of processor`);
  console.log(`a program takes ${load.toFixed(1)} times as long as its work on this machine now`);
  expect(best.filter(({ byClockMs }) => byClockMs > limitMs * load)).toEqual([]);
}, 400_000);
