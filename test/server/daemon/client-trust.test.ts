// What a daemon ends when it no longer trusts a client.
import { expect, test } from 'vitest';
import { ClientTrust } from '../../../server/daemon/client-trust.ts';

type Parts = ConstructorParameters<typeof ClientTrust>;
type Listener = (kind: string, name: string, before: object | undefined) => void;

/** `certificates`: the records of clients as they are now. `change`: another member has changed a record. */
function followed(certificates: ReadonlyMap<string, object> = new Map()) {
  const revoked: string[] = [];
  let change: Listener = () => {};
  const records = {
    onShared: (listener: Listener) => void (change = listener),
    server: { get: () => undefined },
    certificates: {
      get: (name: string) => (certificates.has(name) ? { document: certificates.get(name) } : undefined),
    },
  };
  const base = {
    clock: { nowMs: () => 0 },
    cluster: { certificates: { fingerprints: new Set() } },
    events: { subscribe: () => () => {} },
    log: { warn: () => {} },
    operations: { claim: () => {}, about: () => ({}), revoke: (owner: string) => void revoked.push(owner) },
    records,
    certificates: {},
    pki: {},
  };
  const services = { certificates: {}, server: { oidc: () => undefined } };
  const trust = new ClientTrust(base as unknown as Parts[0], services as unknown as Parts[1]);
  trust.follow();
  return { trust, revoked, change };
}

test('operations of a user end when another member of the cluster changes the config that trusts the user', () => {
  const { trust, revoked, change } = followed();
  let grant: ReturnType<typeof trust.bearers.grantOf> = { class: 'restricted', projects: ['web'] };
  trust.bearers.grantOf = () => grant;
  trust.claimOperation('1', { subject: 'ann' }, 'web');
  change('server', 'config', {});
  expect(revoked).toEqual([]);
  grant = { class: 'restricted', projects: ['db'] };
  change('server', 'config', {});
  expect(revoked).toHaveLength(1);
});

test('a client keeps what it has open when another member renames its certificate or allows it more', () => {
  const certificates = new Map<string, object>();
  const { revoked, change } = followed(certificates);
  const changed = (before: object | undefined, after: object | undefined): readonly string[] => {
    revoked.length = 0;
    certificates.clear();
    if (after !== undefined) certificates.set('f', after);
    change('certificates', 'f', before);
    return [...revoked];
  };
  expect(changed(undefined, { name: 'new' })).toEqual([]);
  expect(changed({ name: 'old' }, { name: 'new' })).toEqual([]);
  expect(changed({ projects: ['web'] }, { projects: ['web', 'db'] })).toEqual([]);
  expect(changed({ projects: ['web'] }, {})).toEqual([]);
  expect(changed({ projects: ['web', 'db'] }, { projects: ['web'] })).toEqual(['f']);
  expect(changed({}, { projects: ['web'] })).toEqual(['f']);
  expect(changed({ name: 'old' }, undefined)).toEqual(['f']);
});
