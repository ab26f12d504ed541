// Checks at the start whether the server can keep the store (programs that imitate etcd for one user often cannot), and later its health.
import { StoreError } from '../store.ts';
import type { EtcdHealth } from './backend.ts';
import { etcdOpsPerTxn } from './compile-txn.ts';
import { EtcdFailure } from './failure.ts';
import type { Keyspace } from './keyspace.ts';
import { renew } from './leases.ts';
import type { EtcdLink } from './link.ts';
import type { EtcdCompare, RequestOp } from './messages.ts';

const oldestVersion = [3, 4] as const;
const probeTtlSeconds = 5;

/** Changes nothing that others can see. Throws StoreError Invalid with the reason, Unavailable if no member answers. */
export async function probe(link: EtcdLink, keyspace: Keyspace): Promise<{ readonly version: string }> {
  const version = await asking(
    link,
    'it does not report its version',
    async () => (await link.call('Status', {})).version,
  );
  if (!isNewEnough(version))
    throw new StoreError(
      'Invalid',
      `etcd ${version} at ${link.endpoint} is too old: ${oldestVersion.join('.')} is needed`,
    );
  await asking(link, 'it refuses a transaction over several keys', () => probeTxn(link, keyspace));
  await asking(link, 'it does not keep leases alive', () => probeLease(link));
  return { version };
}

/** The compares fail, so that a transaction of the largest size changes nothing. */
async function probeTxn(link: EtcdLink, keyspace: Keyspace): Promise<void> {
  const key = (index: number): Buffer => Buffer.concat([keyspace.meta('mark'), Buffer.from(`/${index}`)]);
  const compare = [0, 1].map((index): EtcdCompare => {
    return { result: 'GREATER', target: 'VERSION', key: key(index), version: 1 };
  });
  const success = Array.from({ length: etcdOpsPerTxn }, (_, index): RequestOp => {
    return { requestDeleteRange: { key: key(index) } };
  });
  const failure = [0, 1].map((index): RequestOp => ({ requestRange: { key: key(index) } }));
  const { succeeded, responses } = await link.call('Txn', { compare, success, failure });
  if (succeeded || responses.length !== failure.length) throw new Error('it answered as if the compares held');
}

async function probeLease(link: EtcdLink): Promise<void> {
  const { ID } = await link.call('LeaseGrant', { TTL: probeTtlSeconds });
  try {
    if (!((await renewAgain(link, ID)) > 0)) throw new Error('it ended the lease at once');
  } finally {
    // An earlier attempt may have revoked it without an answer.
    await link.call('LeaseRevoke', { ID }).catch((error: unknown) => {
      if (!(error instanceof EtcdFailure && error.kind === 'noLease')) throw error;
    });
  }
}

/** A slow answer proves nothing: retries like other calls. */
async function renewAgain(link: EtcdLink, id: string): Promise<number> {
  const end = performance.now() + Math.min(link.totalMs, (probeTtlSeconds * 1000) / 2);
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await renew(link, id);
    } catch (error) {
      const isAway = error instanceof EtcdFailure && error.kind === 'unreachable';
      if (!isAway || performance.now() >= end) throw error;
    }
    await link.pause(attempt);
  }
}

async function asking<T>(link: EtcdLink, why: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    // A full etcd grants no lease, but can keep the store.
    const isOther = ({ kind, code }: EtcdFailure): boolean =>
      code === 'NoSpace' || ['denied', 'token', 'unreachable'].includes(kind);
    if (error instanceof EtcdFailure && isOther(error)) throw error.toStoreError();
    const isSmall = error instanceof EtcdFailure && error.code === 'TooLarge';
    const text = isSmall
      ? `etcd at ${link.endpoint} takes too few operations in a transaction: start it with --max-txn-ops=${etcdOpsPerTxn} or more`
      : `${link.endpoint} is not an etcd that can keep the store: ${why}`;
    throw new StoreError('Invalid', text, { cause: error });
  }
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldestVersion[0] || (major === oldestVersion[0] && minor >= oldestVersion[1]);
}

/** Its alarms, and how full its file is. */
export async function readHealth(link: EtcdLink): Promise<EtcdHealth> {
  const [{ dbSize, dbSizeInUse }, { alarms }] = await Promise.all([
    link.call('Status', {}),
    link.call('Alarm', { action: 'GET' }),
  ]);
  const names = [...new Set(alarms.map(({ alarm }) => alarm))].filter((name) => name !== 'NONE');
  return { alarms: names, sizeBytes: Number(dbSize), usedBytes: Number(dbSizeInUse) };
}
