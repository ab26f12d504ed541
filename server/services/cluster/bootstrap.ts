// Makes a cluster of a single host: its records move to a store that others can join, while its containers run on.
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { clusterCertificateFiles, clusterDir, writeMembership } from '../../cluster/membership.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import type { MemberDocument } from '../../records/documents.ts';
import { load } from '../../store/load.ts';
import { asMember, foundingRecords, type Pair } from './convert-records.ts';
import type { ClusterUseCaseDeps } from './deps.ts';

const firstNumber = 1;

/** Until the membership is written the host is what it was, and what was begun in the new store is useless. */
export async function bootstrap(deps: ClusterUseCaseDeps, name: string, address: string): Promise<void> {
  const { stateDir, records, stores, certificates, architecture, version, clock } = deps;
  await mkdir(clusterDir(stateDir), { recursive: true, mode: 0o700 });
  await deps.listen(address);
  try {
    const store = await stores.found(address, certificates.current.keyPem);
    const opened = await stores.open(store, firstNumber);
    try {
      const uuid = randomUUID();
      const document: MemberDocument = {
        v: 1,
        number: firstNumber,
        address,
        architecture,
        joinedAt: clock.timestamp(),
        release: version,
      };
      await records.moveTo(firstNumber, async (from) => {
        await opened.begin();
        await load(
          opened.store,
          joined(foundingRecords(uuid, version, { name, document }), asMember(from, firstNumber, true)),
        );
        await opened.finish();
        const files = clusterCertificateFiles(stateDir);
        await writeDurably(files.key, certificates.current.keyPem, 0o600);
        await writeDurably(files.cert, certificates.current.certPem, 0o644);
        await writeMembership(stateDir, { number: firstNumber, clusterUuid: uuid, store });
        return opened.store;
      });
      opened.use();
    } catch (error) {
      await opened.abandon();
      throw error;
    }
  } catch (error) {
    await stores.forget();
    await deps.listen(undefined);
    throw error;
  }
  await certificates.reload(stateDir, true);
  await deps.becameMember();
}

async function* joined(first: Iterable<Pair>, then: AsyncIterable<Pair>): AsyncGenerator<Pair> {
  yield* first;
  yield* then;
}
