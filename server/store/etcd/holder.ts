// The single writer of a store: a key under a lease, with the writer's name. A second writer is refused until that lease ends.
import { randomUUID } from 'node:crypto';
import { pause } from '../../lib/shared/deadline.ts';
import { type Lease, StoreError } from '../store.ts';
import { EtcdFailure } from './failure.ts';
import { type Fence, fenceValue, takenOver } from './fence.ts';
import type { Keyspace } from './keyspace.ts';
import type { EtcdLeases } from './leases.ts';
import type { EtcdLink } from './link.ts';
import type { EtcdCompare, KeyValue, RequestOp, TxnRequest } from './messages.ts';

export interface ExclusiveOptions {
  /** Its name, for the message that others get. */
  readonly holder: string;
  /** Unique to this process. */
  readonly identity: string;
  /** True if the process of that identity has certainly ended: then its lease need not expire. */
  readonly hasEnded: (identity: string) => boolean;
  readonly ttlSeconds?: number;
  /** How long to wait for an earlier holder. */
  readonly waitMs?: number;
  /** Another process took the lock. */
  readonly onTakenOver?: (error: StoreError) => void;
}

export interface HolderDeps {
  readonly link: EtcdLink;
  readonly keyspace: Keyspace;
  readonly leases: EtcdLeases;
  readonly fence: Fence;
}

const defaults = { ttlSeconds: 15, waitMs: 1_000 };
const lookAgainMs = 200;

/** Resolves when this store is the only writer. Throws Locked with the other writer's name. */
export async function becomeWriter(deps: HolderDeps, options: ExclusiveOptions): Promise<void> {
  const owner = fenceValue({ owner: randomUUID(), holder: options.holder });
  const end = performance.now() + (options.waitMs ?? defaults.waitMs);
  const lease = await deps.leases.grant(options.ttlSeconds ?? defaults.ttlSeconds);
  try {
    for (;;) {
      const found = await claim(deps, options, owner, lease, []);
      if (found === undefined) break;
      const other = describe(found);
      if (options.hasEnded(other.identity)) await endLease(deps, found.lease);
      else if (performance.now() < end) await pause(lookAgainMs, undefined);
      else throw inUse(deps, other.holder, options);
    }
  } catch (error) {
    await lease.revoke().catch(() => {});
    throw error;
  }
  void stayWriter(deps, options, owner, lease);
}

/** Acquires the lock again after its lease was lost (a long outage), unless another process was faster. */
async function stayWriter(deps: HolderDeps, options: ExclusiveOptions, owner: Buffer, first: Lease): Promise<void> {
  const { link, keyspace, leases } = deps;
  const mine: EtcdCompare = { result: 'EQUAL', target: 'VALUE', key: keyspace.meta('fence'), value: owner };
  for (let lease = first; ;) {
    await lease.lost;
    if (leases.isClosing) return;
    for (let attempt = 0; ; attempt += 1) {
      try {
        lease = await leases.grant(options.ttlSeconds ?? defaults.ttlSeconds);
        const found = await claim(deps, options, owner, lease, [mine]);
        if (found === undefined) break;
        await lease.revoke();
        options.onTakenOver?.(takenOver(describe(found).holder));
        return;
      } catch {
        if (leases.isClosing || link.isClosed || link.isLost) return;
        await link.pause(attempt).catch(() => {});
      }
    }
  }
}

/** The other holder; undefined if this process got the lock. */
async function claim(
  { link, keyspace, fence }: HolderDeps,
  { holder, identity }: ExclusiveOptions,
  owner: Buffer,
  lease: Lease,
  also: readonly EtcdCompare[],
): Promise<KeyValue | undefined> {
  const key = keyspace.meta('holder');
  const value = Buffer.from(JSON.stringify({ holder, identity }));
  const request: TxnRequest = {
    compare: [{ result: 'EQUAL', target: 'VERSION', key, version: 0 }, ...also],
    success: [{ requestPut: { key, value, lease: lease.id } }, { requestPut: { key: fence.key, value: owner } }],
    failure: [key, fence.key].map((each): RequestOp => ({ requestRange: { key: each } })),
  };
  const { succeeded, header, responses } = await link.call('Txn', request);
  if (succeeded) {
    fence.take(owner, Number(header.revision));
    return undefined;
  }
  const [lock, fenced] = responses.map(({ responseRange }) => responseRange?.kvs[0]);
  // An earlier attempt of this call succeeded, but its answer was lost.
  if (lock !== undefined && fenced !== undefined && lock.lease === lease.id) {
    fence.take(owner, Number(fenced.modRevision));
    return undefined;
  }
  if (lock !== undefined) return lock;
  if (fenced?.value.equals(owner) === false && also.length > 0) return fenced;
  throw new EtcdFailure('unreachable', 'Unavailable', 'the lock of the store changed its holder');
}

async function endLease({ link }: HolderDeps, id: string): Promise<void> {
  await link.call('LeaseRevoke', { ID: id }).catch((error: unknown) => {
    if (!(error instanceof EtcdFailure && error.kind === 'noLease')) throw error;
  });
}

function describe({ value }: KeyValue): { readonly holder: string; readonly identity: string } {
  try {
    const { holder, identity } = JSON.parse(value.toString()) as { holder?: unknown; identity?: unknown };
    return { holder: String(holder), identity: String(identity) };
  } catch {
    return { holder: 'an unknown program', identity: '' };
  }
}

function inUse(
  { keyspace }: HolderDeps,
  holder: string,
  { ttlSeconds = defaults.ttlSeconds }: ExclusiveOptions,
): StoreError {
  return new StoreError(
    'Locked',
    `the store ${keyspace.name} in etcd is in use by ${holder}; when that has ended, it is free after ${ttlSeconds} s at most`,
  );
}
