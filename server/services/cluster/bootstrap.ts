// Turns a single host into a cluster that others can join.
import { randomUUID } from 'node:crypto';
import type { MemberDocument } from '../../records/cluster-documents.ts';
import { load } from '../../store/load.ts';
import { becomeMember } from './become-member.ts';
import { asMember, foundingRecords, type Pair } from './convert-records.ts';
import type { ClusterUseCaseDeps } from './deps.ts';

const firstNumber = 1;

export async function bootstrap(deps: ClusterUseCaseDeps, name: string, address: string): Promise<void> {
  const { stores, certificates, architecture, version, clock, identity, keys } = deps;
  await becomeMember(deps, address, async () => {
    const { certPem, keyPem } = certificates.current;
    const uuid = randomUUID();
    const { certPem: certificate } = await identity.ensure();
    const document: MemberDocument = {
      v: 1,
      number: firstNumber,
      address,
      architecture,
      joinedAt: clock.timestamp(),
      release: version,
      certificate,
    };
    const founding = foundingRecords(uuid, version, { name, document }, await keys.found(firstNumber, certificate));
    return {
      membership: { number: firstNumber, clusterUuid: uuid, store: await stores.found(address) },
      certPem,
      keyPem,
      async fill(opened, from) {
        await opened.begin();
        await load(opened.store, joined(founding, asMember(from, firstNumber, true)));
        await opened.finish();
      },
    };
  });
}

async function* joined(first: Iterable<Pair>, then: AsyncIterable<Pair>): AsyncGenerator<Pair> {
  yield* first;
  yield* then;
}
