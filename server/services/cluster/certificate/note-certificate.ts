// A member that lost its key pair and made a new one publishes the new certificate to its peers.
import type { ServiceParts } from '../../shared/service-parts.ts';
import type { MemberIdentity } from '../../../membership/keys/identity.ts';

export interface NoteCertificateDeps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly identity: Pick<MemberIdentity, 'current'>;
}

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
