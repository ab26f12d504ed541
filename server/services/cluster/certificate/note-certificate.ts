// A member of an older release had no certificate of its own: after the upgrade it tells the others by which they are to know it.
import type { MemberIdentity } from '../../../membership/keys/identity.ts';
import type { Log } from '../../../lib/log.ts';
import type { Records } from '../../../records/records.ts';

export interface NoteCertificateDeps {
  readonly records: Records;
  readonly identity: Pick<MemberIdentity, 'current'>;
  readonly log: Log;
}

/** Also where the pair was lost and made again. */
export async function noteCertificate({ records, identity, log }: NoteCertificateDeps): Promise<void> {
  const certificate = identity.current?.certPem;
  const own = records.members.list().find(({ document }) => document.number === records.member);
  if (own === undefined || certificate === undefined || own.document.certificate === certificate) return;
  await records.retry((changes) => {
    const document = records.members.get(own.name)?.document;
    if (document !== undefined) changes.put('members', own.name, { ...document, certificate });
  });
  log.info('The other members know this one by a certificate of its own now');
}
