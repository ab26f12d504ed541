// Network ACLs over the real daemon on the simulation: the rules of the API, and that networks and their ACLs stay together.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { lifecycleOf, type Json } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();

let count = 0;
const fresh = (): string => `acl${(count += 1)}`;
const url = (name: string): string => `/1.0/network-acls/${name}`;
const create = (name: string, more: object = {}) => daemon.call('POST', '/1.0/network-acls', { name, ...more });
const made = async (more: object = {}): Promise<string> => {
  const name = fresh();
  expect((await create(name, more)).status).toBe(200);
  return name;
};
const network = (name: string, acls: string) =>
  daemon.call('POST', '/1.0/networks', {
    name,
    config: { 'ipv4.address': 'none', 'ipv6.address': 'none', 'security.acls': acls },
  });
const networkUsing = async (acls: string): Promise<string> => {
  const name = `gtyacl${(count += 1)}`;
  expect((await network(name, acls)).status).toBe(200);
  return name;
};
const rule = { action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: '80' };

describe('network ACLs', () => {
  test('are created, shown, replaced, changed in part, renamed and deleted, each with its event', async () => {
    const name = fresh();
    const listening = await daemon.listen('lifecycle');
    const seen = async (action: string): Promise<void> =>
      void (await listening.next((event) => lifecycleOf(event).action === action));
    const answer = await create(name, {
      ingress: [{ ...rule, source: ' 10.0.0.1 , 10.0.0.2', description: '' }],
      config: { 'user.a': 'b' },
    });
    expect([answer.status, answer.headers.location]).toEqual([200, url(name)]);
    await seen('network-acl-created');
    const source = '10.0.0.1,10.0.0.2';
    expect(await daemon.get(url(name))).toEqual({
      name,
      description: '',
      ingress: [{ ...rule, source }],
      egress: [],
      config: { 'user.a': 'b' },
      used_by: [],
    });
    await daemon.call('PATCH', url(name), { description: 'd', config: { 'user.c': 'd' } });
    await seen('network-acl-updated');
    expect(await daemon.get(url(name))).toMatchObject({
      description: 'd',
      ingress: [{ ...rule, source }],
      config: { 'user.a': 'b', 'user.c': 'd' },
    });
    await daemon.call('PUT', url(name), { egress: [rule] });
    expect(await daemon.get(url(name))).toMatchObject({ description: '', ingress: [], egress: [rule], config: {} });
    const to = fresh();
    await daemon.call('POST', url(name), { name: to });
    await seen('network-acl-renamed');
    expect((await daemon.call('GET', url(name))).status).toBe(404);
    expect((await daemon.get('/1.0/network-acls')) as Json[]).toContain(url(to));
    await daemon.call('DELETE', url(to));
    await seen('network-acl-deleted');
    expect((await daemon.call('GET', url(to))).status).toBe(404);
  });

  test('an ACL deleted or renamed during a change does not come back', async () => {
    for (let round = 0; round < 20; round += 1) {
      const name = await made();
      const to = fresh();
      const goes = round % 2 === 0 ? daemon.call('DELETE', url(name)) : daemon.call('POST', url(name), { name: to });
      const [change, gone] = await Promise.all([daemon.call('PUT', url(name), { egress: [rule] }), goes]);
      expect([200, 404]).toContain(change.status);
      expect(gone.status).toBe(round % 2 === 0 ? 202 : 204);
      expect([round, (await daemon.call('GET', url(name))).status]).toEqual([round, 404]);
    }
  });

  test('names that are taken or impossible, wrong rules and stale writes are refused', async () => {
    const name = await made();
    expect((await create(name)).status).toBe(409);
    expect((await create('1st')).body.metadata.message).toContain('Invalid network ACL name "1st"');
    const wrong = await create(fresh(), { ingress: [{ ...rule, source: 'web', protocol: 'icmp4' }] });
    expect(wrong.status).toBe(400);
    expect((wrong.body.metadata.details as Json[]).map(({ path }) => path)).toEqual([
      'ingress.0.source',
      'ingress.0.destination_port',
    ]);
    const stale = await daemon.call('PUT', url(name), {}, { 'if-match': '"other"' });
    expect(stale.status).toBe(412);
  });

  test('an ACL in use is neither deleted nor renamed, and its users are listed', async () => {
    const acl = await made();
    const user = await networkUsing(acl);
    expect(await daemon.get(url(acl))).toMatchObject({ used_by: [`/1.0/networks/${user}`] });
    expect((await daemon.call('DELETE', url(acl))).body.metadata.message).toBe(
      `The network ACL ${acl} is in use by ${user}`,
    );
    expect((await daemon.call('POST', url(acl), { name: fresh() })).status).toBe(400);
    await daemon.call('PATCH', `/1.0/networks/${user}`, { config: { 'security.acls': '' } });
    expect((await daemon.call('DELETE', url(acl))).status).toBe(202);
  });

  test('a network cannot name a missing ACL, or one twice', async () => {
    const acl = await made();
    expect((await network('gtyaclx', `${acl},nowhere`)).body.metadata.message).toContain(
      'there is no network ACL nowhere: create it first',
    );
    expect((await network('gtyaclx', `${acl},${acl}`)).body.metadata.message).toContain(`names ${acl} twice`);
    const name = await networkUsing(acl);
    const changed = await daemon.call('PATCH', `/1.0/networks/${name}`, { config: { 'security.acls': 'nowhere' } });
    expect(changed.body.metadata.message).toContain('there is no network ACL nowhere');
    expect(await daemon.get(`/1.0/networks/${name}`)).toMatchObject({ config: { 'security.acls': acl } });
  });

  test('rules that the host refuses are rolled back on all networks and in the record', async () => {
    const acl = await made({ ingress: [rule] });
    const [first, second] = [await networkUsing(acl), await networkUsing(acl)];
    const set = vi.spyOn(daemon.simNetwork, 'setRules');
    onTestFinished(() => set.mockRestore());
    const rulesOf = (network: string) => set.mock.calls.findLast(([{ name }]) => name === network)?.[0].acls;
    daemon.simNetwork.faults.inject({ operation: 'setRules', network: second, error: 'no luck', times: 1 });
    const before = (await daemon.call('GET', url(acl))).headers.etag;
    const answer = await daemon.call('PUT', url(acl), { ingress: [{ ...rule, destination_port: '81' }] });
    expect(answer.status).toBe(500);
    expect(answer.body.metadata.message).toContain('no luck');
    expect((await daemon.call('GET', url(acl))).headers.etag).toBe(before);
    for (const name of [first, second]) expect(rulesOf(name)).toMatchObject([{ name: acl, ingress: [rule] }]);
    expect((await daemon.call('PUT', url(acl), { ingress: [] })).status).toBe(200);
    for (const name of [first, second]) expect(rulesOf(name)).toMatchObject([{ ingress: [] }]);
  });
});
