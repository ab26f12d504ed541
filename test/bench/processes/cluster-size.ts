// A simulation of what a large cluster costs one member and the store: memory for the records of all members, writes when all come back at
// once, and the question for the newest transaction that each read asks. After npm run build: node --expose-gc
// dist/test/bench/processes/cluster-size.js MEMBERS CONTAINERS-OF-EACH
import { performance } from 'node:perf_hooks';
import { encodeDocument } from '../../../server/records/codec.ts';
import { Records } from '../../../server/records/records.ts';
import { encodePresent, encodeStatus, presentKey, statusKey } from '../../../server/membership/signals.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import type { Op, Store } from '../../../server/store/store.ts';
import { startEtcd } from '../../support/store/etcd.ts';
import { containerRecord, memberRecord } from '../../support/fakes/records.ts';

const [members = 1000, each = 20] = process.argv.slice(2).map(Number);
const opsPerTxn = 60;
const present = encodePresent({
  version: '1.0.0',
  extensions: 180,
  load: { memoryTotalBytes: 64e9, memoryFreeBytes: 32e9, containers: each },
});

function recordsOf(number: number): Op[] {
  const member = memberRecord(number, { address: `10.0.${number >> 8}.${number & 255}:8443` });
  const container = (index: number): Op => ({
    put: `/member/${number}/containers/c${number}-${index}`,
    value: encodeDocument<'containers'>(
      containerRecord({
        uuid: `${number}-${index}`,
        profiles: ['default', 'web'],
        config: { 'limits.memory': '1GiB', 'user.owner': 'team', 'volatile.last_state.power': 'RUNNING' },
        devices: { eth0: { type: 'nic', parent: 'br0', nictype: 'bridged' } },
        pool: 'default',
      }),
    ),
  });
  return [
    { put: `/members/m${number}`, value: encodeDocument<'members'>(member) },
    ...Array.from({ length: each }, (_, index) => container(index)),
  ];
}

const signalsOf = (number: number): Op[] => [
  { put: presentKey(number), value: present },
  ...Array.from({ length: each }, (_, index) => ({
    put: statusKey(number, `c${number}-${index}`),
    value: encodeStatus(statusCodes.running),
  })),
];

async function write(store: Store, ops: readonly Op[]): Promise<void> {
  for (let from = 0; from < ops.length; from += opsPerTxn) await store.txn([], ops.slice(from, from + opsPerTxn));
}

/** Milliseconds for one call of each number, at most `width` at a time. */
async function timed(count: number, width: number, call: (number: number) => Promise<unknown>): Promise<number> {
  const began = performance.now();
  let next = 1;
  const worker = async (): Promise<void> => {
    while (next <= count) await call(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return performance.now() - began;
}

const held = (): number => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const etcd = await startEtcd();
try {
  const store = await openEtcdStore({ endpoints: etcd.endpoints, name: 'size', writer: 'simulation' });
  await timed(members, 32, (number) => write(store, recordsOf(number)));
  const signalsMs = await timed(members, 32, (number) => write(store, signalsOf(number)));
  const questions = 5_000;
  const questionsMs = await timed(questions, 32, () => store.lastWrite());
  globalThis.gc?.();
  const before = held();
  const openedMs = performance.now();
  const records = await Records.open(store, 1);
  const readMs = performance.now() - openedMs;
  globalThis.gc?.();
  const heldMb = (held() - before) / 2 ** 20;
  const figures = {
    members,
    containers: members * each,
    memoryOfOneMemberMb: Math.round(heldMb),
    readingAllRecordsMs: Math.round(readMs),
    allMembersBackMs: Math.round(signalsMs),
    questionsPerSecond: Math.round((questions / questionsMs) * 1000),
    others: records.members.size,
  };
  console.log(JSON.stringify(figures, undefined, 2));
  await store.close();
} finally {
  await etcd.stop();
}
