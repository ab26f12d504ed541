// The page for users of other tools: every command of its right-hand columns is typed against a simulated daemon.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { contentsOf } from '../../support/daemons/contents.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { expectGolden } from '../../support/golden.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { writeQuickstartImage } from '../../support/images/quickstart.ts';
import { markdownPages } from '../../support/markdown.ts';

const allRows = markdownPages('docs')
  .filter(({ path }) => path === 'docs/cli/coming-from.md')
  .flatMap(({ text }) => [...text.matchAll(/^\|(.*)\| (.*) \|$/gm)])
  .flatMap(([, left = '', right = '']) =>
    [...right.matchAll(/`gantry ([^`]+)`/g)].map(([, words = '']) => ({ row: left.trim(), words })),
  );

/** Each command once: rows of several tools name the same. */
const rows = allRows.filter(({ words }, index) => allRows.findIndex((one) => one.words === words) === index);

interface Typing {
  /** Commands that make what the row presumes. */
  readonly before?: readonly string[];
  /** What is read from stdin. */
  readonly piped?: string;
  /** The command runs until somebody ends it. */
  readonly isEndless?: boolean;
  /** What the row needs is not here: the exit code and the words with which that is refused. */
  readonly refusal?: readonly [code: number, words: RegExp];
  /** Another code than 0 that is right. */
  readonly code?: number;
  /** Typed instead: the simulation has no such program or file. */
  readonly typed?: string;
  /** Files that are not there. */
  readonly absent?: readonly string[];
}

const noNetwork = [1, /cannot reach|is not reached/] as const;
const noServer = [7, /cannot reach/] as const;
const noCluster = [1, /not part of a cluster/] as const;
const approve = [64, /needs approval/] as const;
const imageOwn = ['image import own.tar.gz --alias own'];
const snapshotBefore = ['snapshot create web/before'];

/** LXD, a port of the host and an editor: these rows have tests of their own. */
const elsewhere = new Set([
  'migrate-from-lxd --dry-run',
  'migrate-from-lxd -y',
  'set server_config/server core.https_address=:8443',
  'trust add laptop',
]);

const typings: Readonly<Record<string, Typing>> = {
  'launch images:debian/12 web': { before: ['release container/web', 'delete web --force'], refusal: noNetwork },
  'delete web --force': { before: ['release container/web'] },
  'edit web': { piped: 'profiles: [base]\ndescription: edited\n' },
  'edit profile/base': {
    piped: 'description: edited\ndevices: { root: { type: disk, path: /, pool: default } }\n',
  },
  destroy: { refusal: approve },
  'apply -f web.yaml': { refusal: approve },
  'apply --replace container/web': { refusal: approve },
  'apply --env prod': { refusal: approve },
  'apply . --prune --set shop': { refusal: approve },
  'apply other.yaml --var-file prod.vars.yaml': { refusal: approve },
  'destroy --target container/web': { refusal: approve },
  'delete profile/base': { refusal: approve },
  rollback: { before: ['apply --env prod -y'], refusal: approve },
  'import compose compose.yaml -o stack.yaml': { absent: ['stack.yaml'] },
  'start web': { before: ['stop web --force'] },
  'apply -y': { before: ['stop web --force'] },
  'apply -auto-approve': { before: ['stop web --force'] },
  plan: { before: ['stop web --force'] },
  drift: { before: ['stop web --force'], code: 2 },
  'plan --detailed-exitcode': { before: ['stop web --force'], code: 2 },
  'apply web.plan': { before: ['stop web --force', 'plan --out web.plan'] },
  'show web.plan': { before: ['stop web --force', 'plan --out web.plan'] },
  'diff web.yaml': { code: 1 },
  'console web': { isEndless: true },
  'events --type lifecycle': { isEndless: true },
  events: { isEndless: true },
  'logs web -f': { isEndless: true },
  'port-forward web 8080:80': { isEndless: true },
  'shell web': { piped: 'exit\n' },
  'exec web ls -l /srv': { typed: 'exec web echo -l /srv' },
  'exec try CMD': { before: ['launch debian try --ephemeral'], typed: 'exec try echo -x' },
  'adopt container/web': { before: ['release container/web'] },
  'file pull web/etc/a.conf .': { before: ['file push a.conf web/etc/'], absent: ['a.conf'] },
  'snapshot restore web/before': { before: [...snapshotBefore, 'file push a.conf web/etc/'] },
  'snapshot delete web/before': { before: snapshotBefore },
  'backup export web nightly web.tar.gz': { before: ['backup create web nightly'] },
  'backup import web.tar.gz': {
    before: [
      'backup create web nightly',
      'backup export web nightly web.tar.gz',
      'release container/web',
      'delete web --force',
    ],
  },
  'move web --target-host https://new:8443': { refusal: noServer },
  'move web --target-host https://new:8443 --no-live': { refusal: noServer },
  'copy web --target-host https://new:8443 --refresh': { refusal: noServer },
  'move web web2': { before: ['stop web --force'] },
  'image import image.tar.xz --alias own': { typed: 'image import own.tar.gz --alias own' },
  'image export own': { before: imageOwn },
  'image delete own': { before: imageOwn },
  'image publish web --alias base': { before: ['stop web --force'] },
  'image copy images:debian/12 --alias debian': {
    typed: 'image copy images:debian/12 --alias other',
    refusal: noNetwork,
  },
  'context use prod': { before: ['context add prod https://web1:8443'] },
  'list --host prod': { before: ['context add prod https://web1:8443'], refusal: noServer },
  'cluster list': { refusal: noCluster },
  'cluster evacuate one': { refusal: noCluster },
  'cluster evacuate node1': { refusal: noCluster },
  'cluster restore node1': { refusal: noCluster },
};
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the page for users of other tools: ${noImage}`);

const stack = `kind: storage_pool
name: default
driver: dir
---
kind: image
name: debian
file: image.tar.gz
aliases: [debian]
---
kind: profile
name: base
config: { limits.memory: 64MiB }
devices:
  root: { type: disk, path: /, pool: default }
---
kind: container
name: web
source: { type: image, alias: debian }
profiles: [base]
state: running
`;

/** Files of the rows. */
const texts: Readonly<Record<string, string>> = {
  'stack.yaml': stack,
  'a.conf': 'a\n',
  'web.yaml': 'kind: profile\nname: extra\n',
  'other.yaml': 'kind: profile\nname: other\nconfig: { limits.cpu: $size }\n',
  'prod.vars.yaml': 'size: 1\n',
  'compose.yaml': 'services:\n  shop:\n    image: nginx\n',
  'overlays/prod.yaml': 'kind: container\nname: web\npatch: true\nconfig: { user.tier: gold }\n',
  FILE: 'profiles:\n  - name: extra\n',
};
/** Only there for rows that name them. */
const only = new Set(['web.yaml', 'other.yaml', 'FILE']);

describe.skipIf(noImage !== undefined)('the right-hand column', () => {
  const from = process.cwd();
  let daemon: TestDaemon;
  let folder = '';
  const gantry = (line: string, setting: CliSetting = {}): Promise<CliRun> =>
    cli(line.split(' '), {
      ...setting,
      env: { GANTRY_SOCKET: daemon.socketPath, XDG_CONFIG_HOME: join(folder, 'config'), HOME: folder },
    });
  const ok = async (line: string): Promise<void> => {
    const ran = await gantry(line);
    expect([line, ran.code, ran.stderr]).toEqual([line, 0, ran.stderr]);
  };

  beforeAll(async () => {
    daemon = await makeDaemon();
    folder = join(daemon.dir, 'manifests');
    mkdirSync(join(folder, 'overlays'), { recursive: true });
    mkdirSync(join(folder, 'config/gantry'), { recursive: true });
    process.chdir(folder);
    // An address without a listener simulates a machine without a network.
    const remotes = { images: { url: 'http://127.0.0.1:1', protocol: 'simplestreams' } };
    writeFileSync('config/gantry/remotes.json', JSON.stringify(remotes));
    writeQuickstartImage(join(folder, 'image.tar.gz'));
    // Another fingerprint.
    writeFileSync('own.tar.gz', gzipSync(gunzipSync(readFileSync('image.tar.gz')), { level: 1 }));
    writeFileSync('stack.yaml', stack);
    await daemon.call('POST', '/1.0/projects', { name: 'team', config: {} });
    await ok('apply -y');
    await daemon.call('POST', '/1.0/storage-pools', { name: 'fast', driver: 'dir' });
    await daemon.call('POST', '/1.0/storage-pools/fast/volumes/custom', { name: 'data' });
    await daemon.call('POST', '/1.0/networks', {
      name: 'lan',
      type: 'bridge',
      config: { 'ipv4.address': '10.78.0.1/24', 'ipv6.address': 'none' },
    });
    await daemon.call('PATCH', '/1.0/profiles/default', {
      devices: { root: { type: 'disk', path: '/', pool: 'fast' } },
    });
  });
  afterAll(async () => {
    process.chdir(from);
    await daemon?.cleanUp();
  });

  let clean = '';
  /** What every row presumes: the stack is applied and `web` runs; what other rows made is gone. Returns what is on the server. */
  async function reset(words: string): Promise<readonly string[]> {
    for (const file of ['web.plan', 'web.tar.gz', 'gantry.schema.json', 'web.yaml', 'other.yaml', 'FILE'])
      rmSync(join(folder, file), { force: true });
    for (const [file, text] of Object.entries(texts))
      if (!only.has(file) || words.split(' ').includes(file)) writeFileSync(join(folder, file), text);
    const found = await onServer();
    if (found.join() === clean) return found;
    const all = (await daemon.get('/1.0/containers?recursion=1')) as { name: string; status: string }[];
    for (const { name, status } of all) {
      const to = (action: string) => daemon.ok('PUT', `/1.0/containers/${name}/state`, { action, force: true });
      if (status === 'Frozen') await to('unfreeze');
      if (name === 'web' && status === 'Stopped') await to('start');
      if (name === 'web') continue;
      if (status !== 'Stopped') await to('stop');
      await gantry(`delete ${name} --force -y`);
    }
    await daemon.call('PATCH', '/1.0/containers/web', { description: '' });
    await daemon.call('DELETE', '/1.0/containers/web/files?path=/etc/a.conf');
    await gantry('snapshot delete web/before');
    await gantry('backup delete web nightly');
    for (const alias of ['own', 'base']) await gantry(`image delete ${alias}`);
    await daemon.call('DELETE', '/1.0/profiles/extra');
    await daemon.call('PATCH', '/1.0/profiles/base', { description: '' });
    await ok('apply stack.yaml -y');
    const left = await onServer();
    clean = left.join();
    return left;
  }

  /** A command that somebody ends once it has begun: when it prints something, or after 2 s. */
  async function endless(line: string): Promise<CliRun> {
    let interrupt = (): void => {};
    const running = gantry(line, { interrupts: (give) => (interrupt = give), onStdout: () => interrupt() });
    const timer = setInterval(() => interrupt(), 2000);
    return running.finally(() => clearInterval(timer));
  }

  const inside = async (path: string): Promise<string[]> => {
    const { status, metadata } = await daemon.call('GET', `/1.0/containers/web/files?path=${path}`);
    return status === 200 ? metadata.toSorted() : [];
  };
  const onServer = async (): Promise<string[]> => [
    ...(await contentsOf(daemon)),
    ...(await inside('/etc')).map((file) => `web has /etc/${file}`),
  ];
  const inFolder = (): string[] =>
    readdirSync(folder, { withFileTypes: true })
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .filter((file) => file.isFile())
      .map(({ name }) => `file ${name}`);
  const effects: string[] = [];

  test.each(rows.filter(({ words }) => !elsewhere.has(words)))('$row is gantry $words', async ({ words }) => {
    const { before = [], piped, isEndless, refusal, code = 0, typed = words, absent = [] } = typings[words] ?? {};
    const presumed = await reset([words, ...before].join(' '));
    for (const line of before) await ok(line);
    for (const file of absent) rmSync(join(folder, file));
    const had = [...(before.length === 0 ? presumed : await onServer()), ...inFolder()];
    const ran = isEndless === true ? await endless(typed) : await gantry(typed, { piped: piped ?? '' });
    if (refusal === undefined && isEndless === true) expect([0, 130], ran.stderr).toContain(ran.code);
    else if (refusal === undefined) expect(ran.code, ran.stderr).toBe(code);
    else {
      expect(ran.stderr).toMatch(refusal[1]);
      expect(ran.code).toBe(refusal[0]);
    }
    const has = [...(await onServer()), ...inFolder()];
    const lines = [
      `gantry ${typed}`,
      ...had.filter((line) => !has.includes(line)).map((line) => `  - ${line}`),
      ...has.filter((line) => !had.includes(line)).map((line) => `  + ${line}`),
      ...(ran.stdout === '' ? [] : [`  says ${ran.stdout.split('\n')[0] ?? ''}`]),
    ];
    effects.push(...lines.map((line) => line.replaceAll(/[0-9a-f]{64}/g, 'FINGERPRINT')));
  });

  test('each command does to the server and the folder what it did before', () => {
    expectGolden('coming-from.txt', `${effects.join('\n')}\n`);
  });

  test('the rows that are typed elsewhere are in the page', () => {
    const all = rows.map(({ words }) => words);
    expect([...elsewhere, ...Object.keys(typings)].filter((words) => !all.includes(words))).toEqual([]);
  });
});
