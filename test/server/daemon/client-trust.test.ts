// What a daemon ends when it no longer trusts a client.
import { expect, test } from 'vitest';
import { ClientTrust } from '../../../server/daemon/client-trust.ts';

test('operations of a user end when another member of the cluster changes the config that trusts the user', () => {
  const revoked: string[] = [];
  let onShared: (kind: string, name: string, isNew: boolean) => void = () => {};
  const base = {
    clock: { nowMs: () => 0 },
    cluster: { certificates: { fingerprints: new Set() } },
    events: { subscribe: () => () => {} },
    log: { warn: () => {} },
    operations: { claim: () => {}, about: () => ({}), revoke: (owner: string) => void revoked.push(owner) },
    records: { onShared: (listener: typeof onShared) => void (onShared = listener), server: { get: () => undefined } },
    certificates: {},
    pki: {},
  };
  const services = { certificates: {}, server: { oidc: () => undefined } };
  type Parts = ConstructorParameters<typeof ClientTrust>;
  const trust = new ClientTrust(base as unknown as Parts[0], services as unknown as Parts[1]);
  let grant: ReturnType<typeof trust.bearers.grantOf> = { class: 'restricted', projects: ['web'] };
  trust.bearers.grantOf = () => grant;
  trust.follow();
  trust.claimOperation('1', { subject: 'ann' }, 'web');
  onShared('server', 'config', false);
  expect(revoked).toEqual([]);
  grant = { class: 'restricted', projects: ['db'] };
  onShared('server', 'config', false);
  expect(revoked).toHaveLength(1);
});
