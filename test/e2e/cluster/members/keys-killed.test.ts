// The keys of a cluster rotate while members are killed or away: all members end with the same new keys, and nothing is lost.
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest';
import { keyFilePath, type StoredKeys } from '../../../../server/membership/keys/key-file.ts';
import { readMembership } from '../../../../server/membership/membership.ts';
import { clientOf } from '../../../../server/daemon/stores/etcd-place.ts';
import { tokenOf } from '../../../support/cluster/members.ts';
import { type Bundle, bundleDaemon } from '../../../support/daemons/child-process.ts';
import { type Gantryd, startGantryd } from '../../../support/daemons/gantryd.ts';
import { freePorts } from '../../../support/hosts/free-port.ts';
import { isLongRun } from '../../../support/left-out.ts';
import { seededRandom } from '../../../support/random.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const run = promisify(execFile);
const random = seededRandom();
console.log(`kills while the keys of a cluster change: seed ${random.seed}`);
/** Delays from the request to the kill; the three phases take some seconds. */
const delaysMs = isLongRun ? Array.from({ length: 24 }, (_, n) => n * 400) : [300 + Math.floor(random.next() * 2_200)];
const patienceMs = 120_000;

describe.skipIf(etcdMissing() !== undefined)('the keys of a cluster', { timeout: 600_000 }, () => {
  let bundle: Bundle;
  const members: { readonly daemon: Gantryd; readonly address: string }[] = [];
  const copies: string[] = [];

  beforeAll(async () => {
    bundle = bundleDaemon();
    for (const name of ['m1', 'm2', 'm3']) {
      const daemon = await startGantryd({ gantryd: bundle.entry }, { runtime: 'sim' });
      const address = `127.0.0.1:${await freePorts(3)}`;
      members.push({ daemon, address });
      const body = { server_name: name, enabled: true, server_address: address };
      const asked =
        name === 'm1' ? undefined : await first().call('POST', '/1.0/cluster/members', { server_name: name });
      const token = asked && tokenOf(asked.body.metadata.metadata as Record<string, unknown>);
      const answer = await daemon.call('PUT', '/1.0/cluster', { ...body, ...(token && { cluster_token: token }) });
      const ended = await daemon.call('GET', `${String(answer.body.operation)}/wait`);
      expect([name, ended.metadata.status, ended.metadata.err]).toEqual([name, 'Success', '']);
    }
    for (const { daemon } of members)
      await until(
        async () => ((await readMembership(daemon.dir))?.store.address ?? '').split(',').length === 3,
        patienceMs,
      );
  }, 300_000);
  beforeEach(() => {
    onTestFailed(() => {
      for (const { daemon } of members) console.log(`${daemon.dir} said last:\n${daemon.log.slice(-8_000)}`);
    });
  });
  afterAll(async () => {
    for (const { daemon } of members) {
      await daemon.kill();
      rmSync(daemon.dir, { recursive: true, force: true });
    }
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  });

  const first = (): Gantryd => members[0]?.daemon ?? expect.unreachable();
  const keptBy = (daemon: Gantryd): StoredKeys =>
    JSON.parse(readFileSync(keyFilePath(daemon.dir), 'utf8')) as StoredKeys;
  const newest = (): number => Math.max(...members.map(({ daemon }) => keptBy(daemon).state.generation));
  /** Expects that every member uses the keys of this generation, can write, and sees the writes of the others. */
  const allUse = async (generation: number): Promise<void> => {
    for (const { daemon } of members)
      await until(() => {
        const { state } = keptBy(daemon);
        return Promise.resolve(state.generation === generation && state.phase === 'done');
      }, patienceMs);
    for (const [at, { daemon }] of members.entries()) {
      const name = `g${generation}-${at}`;
      await until(async () => {
        const { status } = await daemon.call('POST', '/1.0/profiles', { name });
        return status === 200 || status === 409;
      }, patienceMs);
      for (const other of members)
        await until(async () => {
          const { status, headers } = await other.daemon.call('GET', `/1.0/profiles/${name}`);
          // A member without a connection to the store marks its answer as stale.
          if (headers['x-svc-stale'] !== 'true') expect(status).toBe(200);
          return status === 200;
        }, patienceMs);
    }
  };
  const copyOf = (daemon: Gantryd): string => {
    const copy = tempFolder('gtyc-');
    copies.push(copy);
    cpSync(join(daemon.dir, 'cluster', 'tls'), copy, { recursive: true });
    return copy;
  };
  const isLetIn = async (copy: string, address: string): Promise<boolean> => {
    const flags = [`--cacert=${copy}/ca.crt`, `--cert=${copy}/member.crt`, `--key=${copy}/member.key`];
    const argv = [`--endpoints=https://${clientOf(address)}`, ...flags, '--dial-timeout=2s', '--command-timeout=4s'];
    return await run('etcdctl', [...argv, 'get', '/gantry/meta/store'], {
      env: { ...process.env, ETCDCTL_API: '3' },
    }).then(
      () => true,
      () => false,
    );
  };
  const noneIsLetIn = async (copy: string): Promise<void> => {
    const found = await Promise.all(members.map(({ address }) => isLetIn(copy, address)));
    expect(found).toEqual([false, false, false]);
  };
  const begin = async (): Promise<number> => {
    const before = newest();
    const answer = await first().call('POST', '/internal/cluster/keys');
    expect(answer.status).toBe(202);
    return before + 1;
  };

  test('are new everywhere after a member was killed in the middle, and no write is lost', async () => {
    for (const [round, delay] of delaysMs.entries()) {
      const { daemon } = members[round % members.length] ?? expect.unreachable();
      const generation = await begin();
      await sleep(delay);
      await daemon.kill();
      await daemon.start();
      await allUse(generation);
    }
  });

  test('change by gantryd cluster rotate-ca, reach a member that was away, and a copy of the old ones opens no etcd', async () => {
    const { daemon } = members[2] ?? expect.unreachable();
    const copy = copyOf(first());
    expect(await isLetIn(copy, members[1]?.address ?? '')).toBe(true);
    await daemon.kill();
    const generation = newest() + 1;
    const argv = [bundle.entry, 'cluster', 'rotate-ca', '--state-dir', first().dir];
    expect((await run(process.execPath, argv)).stdout).toContain('use new keys');
    await until(
      () => Promise.resolve(keptBy(first()).state.generation === generation && keptBy(first()).state.phase === 'done'),
      patienceMs,
    );
    expect(keptBy(daemon).state.generation).toBe(generation - 1);
    await daemon.start();
    await allUse(generation);
    await noneIsLetIn(copy);
    for (const each of members) await each.daemon.kill();
    await Promise.all(members.map((each) => each.daemon.start()));
    await allUse(generation);
  });
});
