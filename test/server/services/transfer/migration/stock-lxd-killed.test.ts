// kill -9 of this daemon, as target and as source, and of the stock client that relays, while streams of btrfs travel from or to a real
// LXD: nothing half is left on either side, the source has everything, and the same command works again.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { bundleDaemon, settle, startChild, type ChildDaemon } from '../../../../support/daemons/child-process.ts';
import { call } from '../../../../support/daemons/daemon.ts';
import { describeTree } from '../../../../support/daemons/two-daemons.ts';
import { loopsGone, unmountBelow } from '../../../../support/hosts/mounts.ts';
import { freePort } from '../../../../support/hosts/free-port.ts';
import { clientMissing, type lxcClient } from '../../../../support/hosts/lxd-clients.ts';
import { clientOfBoth, furnishLxd, treeIn } from '../../../../support/hosts/lxd-and-daemon.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../../../support/hosts/stock-lxd.ts';
import { isLongRun } from '../../../../support/left-out.ts';
import { seededRandom } from '../../../../support/random.ts';
import { until } from '../../../../support/until.ts';

const missing =
  stockLxdMissing() ??
  clientMissing('lxc') ??
  (await btrfsMissing()) ??
  (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (missing !== undefined)
  console.log(`skipped: kills while streams of btrfs travel from or to a real LXD, since ${missing}`);

const rounds = isLongRun ? 8 : 2;
const limitMs = 600_000;

describe.skipIf(missing !== undefined)('killed while streams of btrfs travel', () => {
  const bundle = bundleDaemon();
  const random = seededRandom();
  let home = '';
  let lxd: StockLxd;
  let daemon: ChildDaemon | undefined;
  let lxc: ReturnType<typeof lxcClient>;
  /** How long a whole copy takes. */
  let wholeMs = 0;
  const state = (): string => join(home, 'state');
  const start = async (): Promise<void> => {
    const flags = ['--lxd-socket', join(home, 'lxd/unix.socket'), '--lxd-https', `127.0.0.1:${port}`];
    daemon = await startChild(bundle, state(), 'sim', flags);
  };
  const killDaemon = async (): Promise<void> => daemon?.kill('SIGKILL');
  let port = 0;

  beforeAll(async () => {
    console.log(`seed ${random.seed}`);
    home = mkdtempSync(join(realpathSync(tmpdir()), 'gtmigk-'));
    for (const name of ['state', 'lxd']) mkdirSync(join(home, name));
    port = await freePort();
    lxd = await startStockLxd();
    const lxdPort = await furnishLxd(lxd, home);
    await start();
    lxc = await clientOfBoth(home, join(home, 'lxd/unix.socket'), lxdPort);
    for (const remote of ['lxd', 'gantry']) await lxc('storage', 'create', `${remote}:fast`, 'btrfs', 'size=1GiB');
    await lxc('init', 'lxd:busybox', 'lxd:c', '-s', 'fast');
    const root = join(sides.lxd.tree('c'), 'rootfs');
    writeFileSync(join(root, 'first'), randomBytes(16 * 1024 * 1024));
    execFileSync('btrfs', ['subvolume', 'create', join(root, 'inner')]);
    writeFileSync(join(root, 'inner/file'), randomBytes(4 * 1024 * 1024));
    await lxc('snapshot', 'lxd:c', 's0');
    writeFileSync(join(root, 'second'), randomBytes(16 * 1024 * 1024));
    const startMs = Date.now();
    await lxc('copy', 'lxd:c', 'gantry:c', '-s', 'fast');
    wholeMs = Date.now() - startMs;
  }, limitMs);
  afterAll(async () => {
    if (daemon !== undefined) for (const name of ['c', 'x']) await settle(daemon, 'DELETE', `/1.0/containers/${name}`);
    await killDaemon();
    await lxd?.cleanUp();
    unmountBelow(home);
    await loopsGone(home);
    rmSync(home, { recursive: true, force: true });
  }, limitMs);

  const sideOf = (dir: () => string, socket: () => string) => {
    const pool = (): string => join(dir(), 'storage-pools/fast');
    return {
      tree: (name: string, snapshot?: string): string => treeIn({ dir: dir() }, 'fast', name, snapshot),
      has: async (name: string): Promise<boolean> =>
        (await call({ socketPath: socket() }, 'GET', `/1.0/containers/${name}`)).status === 200,
      /** LXD 5.0.2 as target never removes the read-only subvolumes that a cut stream had filled in its folder migration.NUMBER. */
      subvolumes: (): readonly string[] =>
        execFileSync('btrfs', ['subvolume', 'list', pool()], { encoding: 'utf8' })
          .split('\n')
          .map((line) => line.replace(/^.* path /, ''))
          .filter((path) => !path.startsWith('containers/migration.')),
      /** What transfers keep for a moment, and what the container's name is on disk. */
      traces: (name: string): readonly string[] =>
        ['containers', 'containers-snapshots', 'tmp'].flatMap((folder) => {
          const path = join(pool(), folder);
          const names = existsSync(path) ? readdirSync(path) : [];
          return names.filter((each) => folder === 'tmp' || each === name).map((each) => `${folder}/${each}`);
        }),
    };
  };
  const sides = {
    lxd: sideOf(
      () => lxd.dir,
      () => lxd.socketPath,
    ),
    gantry: sideOf(state, () => daemon?.socketPath ?? ''),
  };
  type SideName = keyof typeof sides;
  const facts = (side: SideName, name: string): string =>
    [undefined, 's0'].map((snapshot) => describeTree(join(sides[side].tree(name, snapshot), 'rootfs'))).join('\n');

  const cases = [
    { title: 'the daemon as target', from: 'lxd', to: 'gantry', victim: 'daemon', mode: 'pull' },
    { title: 'the daemon as target that LXD pushes to', from: 'lxd', to: 'gantry', victim: 'daemon', mode: 'push' },
    { title: 'the daemon as source', from: 'gantry', to: 'lxd', victim: 'daemon', mode: 'pull' },
    { title: 'the daemon as source that pushes', from: 'gantry', to: 'lxd', victim: 'daemon', mode: 'push' },
    { title: 'the client that relays from LXD', from: 'lxd', to: 'gantry', victim: 'client', mode: 'relay' },
    { title: 'the client that relays to LXD', from: 'gantry', to: 'lxd', victim: 'client', mode: 'relay' },
  ] as const;

  test.each(cases)('$title leaves nothing half', { timeout: limitMs }, async ({ from, to, victim, mode }) => {
    const copy = (name: string): string[] => ['copy', `${from}:c`, `${to}:${name}`, '-s', 'fast', '--mode', mode];
    // A transfer that has just ended may still remove what it kept for a moment.
    await until(() => !sides.gantry.subvolumes().some((path) => path.startsWith('tmp/')), 60_000);
    const before = { facts: facts(from, 'c'), from: sides[from].subvolumes(), to: kept(to) };
    let cut = 0;
    for (let round = 0; round < rounds; round++) {
      // What LXD forgot of one round blocks its name.
      const name = to === 'lxd' ? `x${round}` : 'x';
      const afterMs = wholeMs * (0.1 + 0.85 * random.next());
      const client = spawn('lxc', ['--quiet', ...copy(name)], { env: { ...process.env, ...lxc.env }, stdio: 'ignore' });
      const ended = new Promise<number | null>((resolve) => client.once('close', resolve));
      // A stock client whose daemon dies while it begins to wait for the operation exits with 0: only an earlier 0 says that all is there.
      const codeInTime = await Promise.race([sleep(afterMs), ended]);
      if (victim === 'client') client.kill('SIGKILL');
      else await killDaemon();
      const code = await ended;
      if (victim === 'daemon') await start();
      if (code !== 0) cut += 1;
      const where = `after ${afterMs.toFixed(0)} of ${wholeMs} ms`;
      // The client or the source may die when everything has been sent.
      if (codeInTime === 0 || (await hasEndedWith(to, name))) {
        expect(facts(to, name), where).toBe(before.facts);
        await lxc('delete', `${to}:${name}`);
      }
      await until(async () => !(await sides[to].has(name)), 60_000);
      const isClean = (end: 'from' | 'to'): boolean =>
        sides[end === 'from' ? from : to].subvolumes().join('\n') === before[end].join('\n');
      // What is wrong is said below.
      if (to === 'gantry') await until(() => isClean('to'), 60_000).catch(() => {});
      await until(() => isClean('from'), 60_000).catch(() => {});
      expect(kept(to), where).toEqual(before.to);
      expect(sides[from].subvolumes(), where).toEqual(before.from);
      if (to === 'gantry') expect(sides[to].traces(name), where).toEqual([]);
      expect(facts(from, 'c'), where).toBe(before.facts);
    }
    console.log(`${cut} of ${rounds} kills came in the middle`);
    await lxc(...copy('x'));
    expect(facts(to, 'x')).toBe(before.facts);
    await lxc('delete', `${to}:x`);
  });

  /** LXD 5.0.2 as target that loses its source while it takes over the last stream forgets the container, but not its subvolumes, nor in
   *  every case its record of the volume. These are the other subvolumes. */
  function kept(side: SideName): readonly string[] {
    const all = sides[side].subvolumes();
    if (side === 'gantry') return all;
    const forgotten = all.filter((path) => /^containers(-snapshots)?\/x/.test(path));
    if (forgotten.length > 0) console.log(`LXD forgot ${forgotten.join(', ')}`);
    return all.filter((path) => !forgotten.includes(path));
  }

  /** Whether the target has the container after its operation has ended. One whose files are gone is being undone: it has to go. */
  async function hasEndedWith(to: SideName, name: string): Promise<boolean> {
    const socketPath = to === 'lxd' ? lxd.socketPath : (daemon?.socketPath ?? '');
    await until(async () => {
      const { metadata } = await call({ socketPath }, 'GET', '/1.0/operations?recursion=1');
      return !/"(?:Running|Pending)"/.test(JSON.stringify(metadata));
    }, 60_000);
    return existsSync(join(sides[to].tree(name), 'rootfs')) && (await sides[to].has(name));
  }
});
