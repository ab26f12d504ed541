// Makes this host a member of a cluster, founded here or joined: its records move into the cluster's store while its containers keep
// running.
import { mkdir } from 'node:fs/promises';
import { errors } from '../../api/errors.ts';
import { clusterCertificateFiles, clusterDir, writeMembership, type Membership } from '../../membership/membership.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Store } from '../../store/store.ts';
import type { ClusterUseCaseDeps, OpenedClusterStore } from './deps.ts';

export interface NewMembership {
  readonly membership: Membership;
  /** The certificate that all members serve. */
  readonly certPem: string;
  readonly keyPem: string;
  /** Copies the records of this host into the cluster's store. */
  readonly fill: (opened: OpenedClusterStore, from: Store) => Promise<unknown>;
}

/** `enter`: gets the store, once the host listens for members at `address`. Until the membership is written the host is unchanged, and a
 *  failure undoes everything. */
export async function becomeMember(
  deps: ClusterUseCaseDeps,
  address: string,
  enter: () => Promise<NewMembership>,
): Promise<void> {
  const { stateDir, stores, certificates, identity, clock } = deps;
  await mkdir(clusterDir(stateDir), { recursive: true, mode: 0o700 });
  await identity.forget();
  await identity.ensure(new Date(clock.nowMs()));
  await listen(deps, address);
  try {
    await moveRecords(deps, address, await enter());
  } catch (error) {
    await stores.forget();
    await identity.forget();
    await deps.listen(undefined);
    throw error;
  }
  await certificates.reload(stateDir, true);
  await deps.becameMember();
}

async function listen(deps: ClusterUseCaseDeps, address: string): Promise<void> {
  try {
    await deps.listen(address);
  } catch (error) {
    throw errors.badRequest(
      `This host cannot listen at its server_address ${address}, which must be an address of its own: ${errorText(error)}`,
    );
  }
}

async function moveRecords(
  { stateDir, records, stores }: ClusterUseCaseDeps,
  address: string,
  made: NewMembership,
): Promise<void> {
  const { membership, certPem, keyPem, fill } = made;
  const opened = await stores.open(membership.store, membership.number);
  try {
    await records.moveTo(membership.number, async (from) => {
      await fill(opened, from);
      const files = clusterCertificateFiles(stateDir);
      await writeDurably(files.key, keyPem, 0o600);
      await writeDurably(files.cert, certPem, 0o644);
      await writeMembership(stateDir, { ...membership, address });
      return opened.store;
    });
    opened.use();
  } catch (error) {
    await opened.abandon();
    throw error;
  }
}
