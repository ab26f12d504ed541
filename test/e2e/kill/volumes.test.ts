// kill -9 at a step of each action on a custom volume: the next daemon finds the action finished or undone, and nothing else on the host.
// A random step of each; a dozen of each with GANTRY_LONG=1.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { DoomedDaemon } from '../../faults/kill/doomed-daemon.ts';
import { deathAt } from '../../faults/kill/suite.ts';
import { done } from '../../faults/kill/world.ts';
import { bundleDaemon, read, settle } from '../../support/daemons/child-process.ts';
import { call } from '../../support/daemons/daemon.ts';
import { loopsBelow, loopsGone, mountsBelow, unmountBelow } from '../../support/hosts/mounts.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: killed actions on volumes of btrfs: ${noBtrfs}`);
const random = seededRandom();
const bundle = bundleDaemon();

type Request = readonly [method: string, path: string, body?: object | Buffer];

describe.each(noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'])('on a pool of driver %s', (driver) => {
  let dir = '';
  let daemon: DoomedDaemon;
  let upload: Buffer;
  const pool = (name: string, ...rest: string[]): string => join(dir, 'storage-pools', name, ...rest);
  const volumes = (name: string): string => `/1.0/storage-pools/${name}/volumes/custom`;
  const ask = (...request: Request): Promise<void> => done(daemon.child, ...request);
  const list = (path: string): string[] => (existsSync(path) ? readdirSync(path).toSorted() : []);

  /** Files that all have this content. */
  const fill = (tree: string, word: string): void => {
    for (const folder of ['a', 'b']) {
      mkdirSync(join(tree, folder), { recursive: true });
      for (const file of ['x', 'y']) writeFileSync(join(tree, folder, file), word);
    }
  };
  const wordOf = (tree: string): string =>
    [...new Set(['a/x', 'a/y', 'b/x', 'b/y'].map((file) => readFileSync(join(tree, file), 'utf8')))].join(' and ');

  /** Snapshots s0 (one) and s1 (two), and three. */
  const make = async (at: string, name: string): Promise<void> => {
    await ask('POST', volumes(at), { name });
    for (const [word, snapshot] of [
      ['one', 's0'],
      ['two', 's1'],
    ] as const) {
      fill(pool(at, 'custom', name), word);
      await ask('POST', `${volumes(at)}/${name}/snapshots`, { name: snapshot });
    }
    fill(pool(at, 'custom', name), 'three');
  };
  const drop = async (at: string, name: string): Promise<void> => {
    if ((await call(daemon.child, 'GET', `${volumes(at)}/${name}`)).status === 200)
      await ask('DELETE', `${volumes(at)}/${name}`);
  };

  /** Each volume with its snapshots: what is recorded, which is what is there. */
  async function found(): Promise<Readonly<Record<string, string>>> {
    const all: Record<string, string> = {};
    for (const at of ['p', 'q']) {
      const urls = (await read(daemon.child, volumes(at))) as string[];
      const recorded = urls.map((url) => (url.split('/custom/')[1] ?? '').replace('/snapshots/', '/')).toSorted();
      const names = list(pool(at, 'custom'));
      const snapshots = list(pool(at, 'custom-snapshots')).flatMap((name) =>
        list(pool(at, 'custom-snapshots', name)).map((snapshot) => `${name}/${snapshot}`),
      );
      expect([...names, ...snapshots].toSorted()).toEqual(recorded);
      for (const name of names) all[`${at}/${name}`] = wordOf(pool(at, 'custom', name));
      for (const each of snapshots) all[`${at}/${each}`] = wordOf(pool(at, 'custom-snapshots', ...each.split('/')));
    }
    return all;
  }

  async function expectClean(): Promise<void> {
    for (const at of ['p', 'q'])
      for (const folder of ['tmp', 'replaced']) await until(() => list(pool(at, folder)).length === 0, 20_000);
    const running = Object.values((await read(daemon.child, '/1.0/operations?recursion=1')) as object).flat();
    expect(running.filter(({ status }: { status: string }) => status === 'Running')).toEqual([]);
    expect(list(join(dir, 'tmp'))).toEqual([]);
    const kept = readdirSync(join(dir, 'backups'), { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    const recorded = (await read(daemon.child, `${volumes('p')}/saved/backups`)) as string[];
    expect(kept.length).toBe(recorded.length);
    const mounts = driver === 'btrfs' ? 1 : 0;
    expect([mountsBelow(dir).length, loopsBelow(dir).length]).toEqual([mounts, mounts]);
  }

  beforeAll(async () => {
    dir = await realpath(tempFolder('gtkv-'));
    daemon = new DoomedDaemon(bundle, dir, 'sim');
    await daemon.start();
    await ask('POST', '/1.0/storage-pools', {
      name: 'p',
      driver,
      config: driver === 'btrfs' ? { size: '256MiB' } : {},
    });
    await ask('POST', '/1.0/storage-pools', { name: 'q', driver: 'dir' });
    for (const name of ['origin', 'saved']) await make('p', name);
    await ask('POST', `${volumes('p')}/saved/backups`, { name: 'kept' });
    upload = (await call(daemon.child, 'GET', `${volumes('p')}/saved/backups/kept/export`)).bytes;
    await ask('DELETE', `${volumes('p')}/saved/backups/kept`);
  });
  afterAll(async () => {
    await daemon.kill();
    unmountBelow(dir);
    rmSync(dir, { recursive: true, force: true });
    await loopsGone(dir);
  });

  interface Action {
    readonly prepare: () => Promise<void>;
    readonly request: () => Request;
    /** Whether what is there of it is a state that it may end in. */
    readonly isSound: (of: Readonly<Record<string, string>>) => boolean;
  }

  /** An older copy: s1 is missing, x is too many, and the files are others. */
  const older = (at: string): Action => ({
    prepare: async () => {
      await drop(at, 'copy');
      await ask('POST', volumes(at), { name: 'copy', source: { type: 'copy', name: 'origin', pool: 'p' } });
      await ask('DELETE', `${volumes(at)}/copy/snapshots/s1`);
      fill(pool(at, 'custom/copy'), 'old');
      await ask('POST', `${volumes(at)}/copy/snapshots`, { name: 'x' });
    },
    request: () => [
      'POST',
      volumes(at),
      { name: 'copy', source: { type: 'copy', name: 'origin', pool: 'p', refresh: true } },
    ],
    isSound: (of) =>
      ['old', 'three'].includes(of[`${at}/copy`] ?? '') &&
      of[`${at}/copy/s0`] === 'one' &&
      [undefined, 'two'].includes(of[`${at}/copy/s1`]) &&
      [undefined, 'old'].includes(of[`${at}/copy/x`]),
  });
  const isWhole = (of: Readonly<Record<string, string>>, name: string): boolean =>
    of[name] === 'three' && of[`${name}/s0`] === 'one' && of[`${name}/s1`] === 'two';
  const isNone = (of: Readonly<Record<string, string>>, name: string): boolean =>
    Object.keys(of).every((one) => one !== name && !one.startsWith(`${name}/`));

  const actions: Readonly<Record<string, Action>> = {
    'a refresh in its pool': older('p'),
    'a refresh from another pool': older('q'),
    'a move to another pool': {
      prepare: async () => {
        for (const at of ['p', 'q']) await drop(at, 'moved');
        await make('p', 'moved');
      },
      request: () => ['POST', `${volumes('p')}/moved`, { name: 'moved', pool: 'q' }],
      isSound: (of) =>
        (isWhole(of, 'p/moved') && isNone(of, 'q/moved')) || (isWhole(of, 'q/moved') && isNone(of, 'p/moved')),
    },
    'a restore of a snapshot': {
      prepare: async () => {
        await drop('p', 'restored');
        await make('p', 'restored');
      },
      request: () => ['PUT', `${volumes('p')}/restored`, { restore: 's0' }],
      isSound: (of) =>
        ['one', 'three'].includes(of['p/restored'] ?? '') &&
        of['p/restored/s0'] === 'one' &&
        of['p/restored/s1'] === 'two',
    },
    'a backup': {
      prepare: async () => {
        for (const url of (await read(daemon.child, `${volumes('p')}/saved/backups`)) as string[])
          await ask('DELETE', url);
      },
      request: () => ['POST', `${volumes('p')}/saved/backups`, { name: 'b' }],
      isSound: (of) => isWhole(of, 'p/saved'),
    },
    'an import of a backup': {
      prepare: () => drop('p', 'brought'),
      request: () => ['POST', volumes('p'), upload],
      isSound: (of) => isNone(of, 'p/brought') || isWhole(of, 'p/brought'),
    },
  };
  const run = async (name: string): Promise<unknown> => {
    const [method, path, body] = actions[name]?.request() ?? ['', ''];
    if (!Buffer.isBuffer(body)) return settle(daemon.child, method, path, body);
    const octets = { 'content-type': 'application/octet-stream', 'x-svc-name': 'brought' };
    const { body: answer } = await call(daemon.child, method, path, body, octets);
    return read(daemon.child, `${answer.operation}/wait`);
  };

  test.each(Object.keys(actions))('%s is finished or undone', async (name) => {
    const { prepare, isSound } = actions[name] as Action;
    await prepare();
    await daemon.effects();
    await run(name);
    const count = await daemon.effects();
    expect(count).toBeGreaterThan(3);
    expect(isSound(await found())).toBe(true);
    const rounds = isLongRun ? 12 : 1;
    const steps = Array.from(
      { length: rounds },
      (_, round) => 1 + Math.floor(((round + random.next()) * count) / rounds),
    );
    const wrong: string[] = [];
    for (const step of steps) {
      await prepare();
      await daemon.arm(deathAt(step, random));
      await run(name).catch(() => undefined);
      if (daemon.diedAt === undefined) await daemon.kill();
      else await daemon.child.exited;
      const where = `step ${step} of ${count}, ${daemon.diedAt ?? 'after its end'}, seed ${random.seed}`;
      await daemon.start();
      const of = await found().catch((error: unknown) => ({ error: String(error) }));
      if (!isSound(of)) wrong.push(`${where}: ${JSON.stringify(of)}`);
      await expectClean().catch((error: unknown) => wrong.push(`${where}: ${String(error)}`));
    }
    expect(wrong).toEqual([]);
  });
});
