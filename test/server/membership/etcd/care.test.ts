// Maintenance of etcd's file: unused space is returned, an alarm is cleared once there is room, an operator is warned before.
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { StoreCare } from '../../../../server/daemon/stores/etcd-watch.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { EtcdCare } from '../../../../server/membership/etcd/care.ts';
import { type EtcdFacts, nextCare, warningsOf } from '../../../../server/membership/etcd/care-plan.ts';
import { EtcdMembership } from '../../../../server/membership/etcd/membership.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { freePort } from '../../../support/hosts/free-port.ts';
import { openEtcdNest } from '../../../support/store/supervised-etcd.ts';
import { del, put } from '../../../support/store/watching.ts';
import { until } from '../../../support/until.ts';

const missing = etcdMissing();
const quota = 1_000e6;

/** Sizes in MB: of the file, and used; the last one leads. */
const facts = (sizes: readonly (readonly [number, number] | undefined)[], ...alarms: [number, string][]): EtcdFacts => {
  return {
    etcds: sizes.map((size, n) => {
      const status = size && {
        id: String(n),
        version: '3.4.23',
        leader: String(sizes.length - 1),
        isLearner: false,
        revision: 5,
        sizeBytes: size[0] * 1e6,
        usedBytes: size[1] * 1e6,
      };
      return { id: String(n), name: `m${n}`, address: `h${n}`, status, defragmentedAt: 5 };
    }),
    alarms: alarms.map(([n, alarm]) => ({ memberId: String(n), alarm })),
  };
};

/** Something was written or deleted since the files were rewritten. */
const changed = ({ etcds, alarms }: EtcdFacts): EtcdFacts => ({
  etcds: etcds.map((etcd) => ({ ...etcd, defragmentedAt: 4 })),
  alarms,
});

test('the end of the maintenance does not wait for an etcd that accepts connections and says nothing', async () => {
  const port = await freePort();
  let connections = 0;
  const silent = createServer((socket) => {
    connections += 1;
    onTestFinished(() => void socket.destroy());
  }).listen(port, '127.0.0.1');
  onTestFinished(() => void silent.close());
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const care = new StoreCare(silentLog);
  await care.begin({ address: `etcd://127.0.0.1:${port}/gantry`, own: true });
  vi.advanceTimersByTime(60_000);
  await until(() => connections > 0);
  const begun = performance.now();
  await care.end();
  expect(performance.now() - begun).toBeLessThan(10_000);
});

describe('the next step', () => {
  const step = (of: EtcdFacts): string => {
    const care = nextCare(of, quota);
    if (care === undefined) return 'nothing';
    return care.do === 'disarm' ? `disarm ${care.memberId}` : `defragment ${care.address}`;
  };
  test.each<[string, EtcdFacts, string]>([
    [
      'full files are left alone',
      facts([
        [500, 400],
        [500, 400],
        [500, 400],
      ]),
      'nothing',
    ],
    [
      'so are small ones',
      facts([
        [10, 1],
        [10, 1],
        [10, 1],
      ]),
      'nothing',
    ],
    [
      'one that is mostly free gives space back',
      facts([
        [500, 400],
        [500, 100],
        [500, 400],
      ]),
      'defragment h1',
    ],
    [
      'the leader is the last one',
      facts([
        [500, 400],
        [500, 400],
        [500, 100],
      ]),
      'defragment h2',
    ],
    [
      'before the leader come the others',
      facts([
        [500, 100],
        [500, 400],
        [500, 100],
      ]),
      'defragment h0',
    ],
    ['none while one of them does not answer', facts([[500, 100], undefined, [500, 400]]), 'nothing'],
    ['after an alarm, also while one does not answer', facts([[900, 100], undefined], [0, 'NOSPACE']), 'defragment h0'],
    [
      'an alarm stays while one is full',
      facts(
        [
          [900, 900],
          [100, 90],
          [100, 90],
        ],
        [0, 'NOSPACE'],
      ),
      'nothing',
    ],
    [
      'after an alarm a full file is rewritten once for a revision',
      changed(facts([[900, 900]], [0, 'NOSPACE'])),
      'defragment h0',
    ],
    ['without an alarm a full file stays', changed(facts([[900, 900]])), 'nothing'],
    [
      'an alarm ends when all have room',
      facts(
        [
          [100, 90],
          [100, 90],
          [100, 90],
        ],
        [1, 'NOSPACE'],
      ),
      'disarm 1',
    ],
    ['an alarm about damage stays', facts([[100, 90]], [0, 'CORRUPT']), 'nothing'],
  ])('%s', (_what, of, expected) => {
    expect(step(of)).toBe(expected);
  });
});

test('an operator is warned of alarms, and before the quota is reached', () => {
  expect(
    warningsOf(
      facts([
        [100, 90],
        [700, 600],
      ]),
      quota,
    ),
  ).toEqual([]);
  expect(
    warningsOf(
      facts([
        [900, 870],
        [900, 100],
      ]),
      quota,
    ),
  ).toEqual(['etcd at m0 uses more than 85 % of its quota of 1000 MB']);
  expect(warningsOf(facts([[100, 90]], [0, 'NOSPACE'], [0, 'CORRUPT']), quota)).toEqual([
    expect.stringContaining('etcd is full (m0 has raised the alarm NOSPACE)'),
    expect.stringContaining('etcd at m0 has raised the alarm CORRUPT'),
  ]);
});

test.skipIf(missing !== undefined)('a full etcd recovers by itself after records were deleted', async () => {
  const quotaBytes = 16 * 1024 ** 2;
  const nest = await openEtcdNest();
  const { process, start } = await nest.member('m0', { kind: 'new', token: 'x' }, { quotaBytes });
  const options = { endpoints: [start.clientAddress], tls: nest.tls, attemptMs: 20_000 };
  const logged: string[] = [];
  const write = (level: string) => (message: string) => void logged.push(`${level} ${message}`);
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const membership = new EtcdMembership(options);
  const care = new EtcdCare({ membership, quotaBytes, log, everyMs: 3_600_000 });
  try {
    await process.start(start);
    const store = await openEtcdStore({ ...options, name: 'x' });
    await care.run();
    expect(care.warnings).toEqual([]);
    const value = new Uint8Array(500_000);
    const written: string[] = [];
    const fill = async (): Promise<never> => {
      for (let n = 0; ; n += 1) {
        await store.txn([], [{ put: `/${n}`, value }]);
        written.push(`/${n}`);
      }
    };
    await expect(fill()).rejects.toMatchObject({ code: 'NoSpace' });
    await care.run();
    await care.run();
    expect(care.warnings[0]).toContain('etcd is full');
    expect(logged.filter((line) => line.startsWith('error etcd is full'))).toHaveLength(1);
    await expect(store.txn([], [put('/a')])).rejects.toMatchObject({ code: 'NoSpace' });

    await store.txn(
      [],
      written.map((key) => del(key)),
    );
    // The space becomes free some time after the deletion.
    await until(async () => {
      await care.run();
      return care.warnings.length === 0;
    });
    expect(logged).toContain('info etcd has room again: the alarm NOSPACE is off, changes are taken again');
    expect(await store.txn([], [put('/a')])).toMatchObject({ ok: true });
    expect((await membership.statusOf(start.clientAddress)).sizeBytes).toBeLessThan(quotaBytes / 2);

    await process.stop();
    await store.close();
    await care.stop();
  } finally {
    await care.stop();
    membership.close();
    await nest.close();
  }
});
