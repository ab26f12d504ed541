// Every verb of the table of verbs whose output loses its reader at once (`| true`) or after a line (`| head -1`) ends without an error.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { verbs } from '../../../reconciler/cli/program/verbs.ts';
import { createContainer, makeSeeded, setState, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildPrograms, plainEnv } from '../../support/cli/programs.ts';
import { newMark, type Mark } from '../../support/hosts/marked-processes.ts';
import { isLongRun } from '../../support/left-out.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const declared = Object.values(verbs).flatMap((rows) => rows.map(({ verb }) => verb.name));

const programs = buildPrograms();
let daemon: TestDaemon;
const folder = tempFolder('gcv-');
beforeAll(async () => {
  // Tokens of `trust add` name an address: the daemon needs one.
  daemon = await makeSeeded({ https: '127.0.0.1:0' });
  for (const name of ['c1', 'c2', 'm1', 'm2', 'x1', 'x2']) await createContainer(daemon, name);
  await setState(daemon, 'c1', 'start');
  // Objects that the rows below change or delete, separate for each round.
  for (const name of ['s', 't1', 't2', 'd1', 'd2']) await daemon.ok('POST', '/1.0/containers/c2/snapshots', { name });
  for (const name of ['b', 'd1', 'd2'])
    await daemon.ok('POST', '/1.0/containers/c2/backups', { name, compression_algorithm: 'none' });
  for (const name of ['f', 'g1', 'g2'])
    await daemon.call('POST', `/1.0/containers/c1/files?path=/${name}`, Buffer.from('x\n'));
  const image = tarOf({ name: 'metadata.yaml', content: goodMetadata, mode: 0o644 }, rootfsDirectory);
  await daemon.ok('POST', '/1.0/images', image, { 'x-svc-aliases': 'alias=img&alias=old1&alias=old2' });
  for (const value of ['1', '2']) {
    writeFileSync(join(folder, 'set.yaml'), manifest(value));
    const made = await ends(['apply', 'set.yaml', '-y'], 'all');
    expect(made.code, made.stderr).toBe(0);
    const locked = await ends(['lock', '--set', `held${value}`], 'all');
    expect(locked.code, locked.stderr).toBe(0);
  }
  writeFileSync(join(folder, 'next.yaml'), manifest('3'));
  await daemon.call('POST', '/1.0/profiles', { name: 'q', config: { 'user.a': '1' } });
  writeFileSync(join(folder, 'own.yaml'), manifest('1').replace('name: p', 'name: q'));
  writeFileSync(join(folder, 'preseed.yaml'), 'profiles: [{ name: seeded, config: {} }]\n');
}, 240_000);
const marks: Mark[] = [];
afterEach(() => {
  for (const mark of marks.splice(0)) mark.killAll();
});
afterAll(() => daemon?.cleanUp());

const manifest = (value: string): string => `kind: profile\nname: p\nconfig: { user.a: '${value}' }\n`;

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Gives a long-running command something to write, since it detects the loss at its next write. */
function keepChanging(name: string): () => void {
  if (name !== 'run') return () => {};
  let changes = 0;
  const change = (): void => {
    changes += 1;
    daemon.call('PATCH', '/1.0/profiles/p', { config: { 'user.a': `by hand ${changes}` } }).catch(() => {});
  };
  change();
  // Rarely enough for a repair to end in between.
  const timer = setInterval(change, 4_000);
  return () => clearInterval(timer);
}

/** `none` reads nothing, `line` one line, as `true` and `head -1` do. */
async function ends(args: readonly string[], reads: 'none' | 'line' | 'all'): Promise<Ended> {
  const mark = newMark();
  marks.push(mark);
  const child = spawn(process.execPath, [programs.gantry, ...args], {
    env: {
      ...plainEnv(),
      ...mark.env,
      XDG_STATE_HOME: folder,
      GANTRY_SOCKET: daemon.socketPath,
      GANTRY_DOCS: resolve('docs'),
    },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<Pick<Ended, 'code' | 'signal'>>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  );
  const texts = { stdout: '', stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (texts.stderr += chunk));
  if (reads === 'none') child.stdout.destroy();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stdout += chunk;
    if (reads === 'line' && texts.stdout.includes('\n')) child.stdout.destroy();
  });
  const ended = await exit;
  await until(() => mark.alive().length === 0);
  return { ...ended, ...texts };
}

/** A working command line of each verb; # is the number of the round. Later ones delete what earlier ones show. */
const works: Readonly<Record<string, string>> = {
  plan: 'plan next.yaml',
  apply: 'apply next.yaml -y',
  status: 'status set.yaml',
  drift: 'drift next.yaml',
  diff: 'diff next.yaml',
  validate: 'validate set.yaml',
  graph: 'graph set.yaml',
  history: 'history',
  'history show': 'history show 1',
  'history diff': 'history diff 1 2',
  lock: 'lock --set free#',
  'force-unlock': 'force-unlock --set held# -y',
  update: 'update set.yaml',
  preseed: 'preseed preseed.yaml',
  get: 'get container',
  show: 'show container/c1',
  wait: 'wait c1 --for running',
  doctor: 'doctor',
  init: 'init new#',
  export: 'export profile/p',
  fmt: 'fmt set.yaml --check',
  adopt: 'adopt profile/q -f own.yaml',
  release: 'release profile/p',
  explain: 'explain container',
  docs: 'docs',
  schema: 'schema',
  completion: 'completion bash',
  version: 'version',
  'trust add': 'trust add someone#',
  'trust list': 'trust list',
  exec: 'exec c1 -- echo hello',
  'file push': 'file push set.yaml c1/n#',
  'file pull': 'file pull c1/f -',
  'file delete': 'file delete c1/g#',
  'snapshot create': 'snapshot create c1/n#',
  'snapshot list': 'snapshot list c2',
  'snapshot show': 'snapshot show c2/s',
  'snapshot rename': 'snapshot rename c2/t# u#',
  'snapshot restore': 'snapshot restore c2/s',
  'snapshot delete': 'snapshot delete c2/d#',
  'backup create': 'backup create c2 n#',
  'backup list': 'backup list c2',
  'backup export': 'backup export c2 b -',
  'backup delete': 'backup delete c2 d#',
  copy: 'copy c2 copied#',
  move: 'move m# moved#',
  list: 'list',
  info: 'info c1',
  start: 'start c2',
  stop: 'stop c2',
  restart: 'restart c1',
  pause: 'pause c1',
  top: 'top c1 --once --interval 100ms',
  set: 'set c2 user.note=#',
  delete: 'delete x#',
  'remote list': 'remote list',
  'context list': 'context list',
  'image list': 'image list',
  'image alias': 'image alias new# img',
  'image unalias': 'image unalias old#',
  'image export': 'image export img -',
  rollback: 'rollback 1 -y',
  run: 'run set.yaml -y',
  destroy: 'destroy set.yaml -y',
};

/** Why only the help of a verb is tried here. */
const elsewhere: Readonly<Record<string, string>> = {
  console: 'wants a terminal',
  shell: 'wants a terminal',
  edit: 'wants an editor or input',
  'port-forward': 'forwards until it is told to end',
  logs: 'wants a console with text',
  launch: 'wants an image with files',
  'context add': 'writes the configuration of the user',
  'context use': 'writes the configuration of the user',
  'context remove': 'wants a context of the user',
  'remote add': 'writes the configuration of the user',
  'remote remove': 'wants a remote of the user',
  events: 'waits until something happens',
  controller: 'wants hosts and sources',
  ui: 'serves a page until it is told to end',
  'controller status': 'wants a running controller',
  'controller sync': 'wants a running controller',
  'controller suspend': 'wants a running controller',
  'controller resume': 'wants a running controller',
  'controller prune': 'wants a running controller',
  'controller rollback': 'wants a running controller',
  'controller approve': 'wants a running controller',
  'controller diff': 'wants a running controller',
  'controller explain': 'wants a running controller',
  'controller audit': 'wants a running controller',
  'controller backup': 'wants the state of a controller',
  'controller restore': 'wants a backup of a controller',
  'controller history': 'wants a running controller',
  'controller logs': 'wants a running controller',
  'controller plan': 'wants a running controller',
  login: 'wants a server of logins',
  logout: 'wants a server of logins',
  'cluster bootstrap': 'wants an etcd',
  'cluster add': 'wants a cluster',
  'cluster join': 'wants a cluster',
  'cluster list': 'wants a cluster',
  'cluster show': 'wants a cluster',
  'cluster rename': 'wants a cluster',
  'cluster remove': 'wants a cluster',
  'cluster evacuate': 'wants a cluster',
  'cluster restore': 'wants a cluster',
  'trust join': 'wants a server at an https address',
  'trust show': 'wants a trusted certificate',
  'trust remove': 'wants a trusted certificate',
  'backup import': 'wants an archive',
  'image import': 'wants an archive',
  'image copy': 'wants a second server',
  'image publish': 'wants a container with files',
  'image refresh': 'wants an image of another server',
  'import compose': 'wants a compose file',
  'import lxd-terraform': 'wants a configuration for LXD',
  'migrate-from-lxd': 'wants a second server',
  'image delete': 'deletes the image that other rows need',
};

test('each verb is in one of the two tables', () => {
  expect([...Object.keys(works), ...Object.keys(elsewhere)].toSorted()).toEqual(declared.toSorted());
});

/** Rows that end differently after one line, and rows whose second round later rows need. */
const readTwice = ['diff', 'history diff', 'drift', 'rollback', 'run'];
/** Every third row is also tried with one line read; all of them with GANTRY_LONG=1. */
const takesLine = (name: string): boolean =>
  isLongRun || readTwice.includes(name) || Object.keys(works).indexOf(name) % 3 === 0;

/** What may be on standard error: notes and progress. */
const complaint = /error|EPIPE|^\s+at /im;

describe('Without a reader, and with one that reads a line,', () => {
  test.each(Object.entries(works))('%s ends without an error', async (name, words) => {
    const round = (number: number): string[] => words.replaceAll('#', String(number)).split(' ');
    onTestFinished(keepChanging(name));
    const unread = await ends(round(1), 'none');
    expect(unread).toMatchObject({ code: 141, signal: null });
    expect(unread.stderr).not.toMatch(complaint);
    if (!takesLine(name)) return;
    const head = await ends(round(2), 'line');
    // A diff or drift with differences, which were written before the reader ended.
    const found = /diff/.test(words) ? [1] : words.startsWith('drift') ? [2] : [];
    expect([0, 141, ...found], `${head.code} ${head.stderr}`).toContain(head.code);
    expect([head.signal, head.stderr]).toEqual([null, expect.not.stringMatching(complaint)]);
  });

  // Help always uses the same output path.
  const helped = Object.keys(elsewhere).filter((name) => isLongRun || ['events', 'cluster add'].includes(name));
  test.each(helped)('%s --help ends without a word', async (name) => {
    const ended = await ends([...name.split(' '), '--help'], 'none');
    expect(ended).toEqual({ code: 141, signal: null, stdout: '', stderr: '' });
  });
});
