// A member that freezes while others ask it: its kernel still takes connections, and no answer ever comes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asCandidate, type Member, threeMembers, type ThreeMembers } from '../../../support/cluster/three-members.ts';
import { done } from '../../../support/cluster/form.ts';
import { bundleDaemon, type Bundle } from '../../../support/daemons/child-process.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a frozen member', { timeout: 90_000 }, () => {
  let bundle: Bundle;
  let cluster: ThreeMembers;
  let one: Member;
  let two: Member;
  beforeAll(async () => {
    bundle = bundleDaemon();
    cluster = await threeMembers({ runtime: 'sim', gantryd: bundle.entry, etcdMembers: 1, isLocal: true });
    [one, two] = cluster.members as [Member, Member];
    await one.gantryd.patch('/1.0', { config: { 'cluster.offline_threshold': '5' } });
    const body = { name: 'c1', source: { type: 'none' } };
    await done(asCandidate(one), 'POST', `/1.0/containers?target=${two.name}`, body);
    // From here on there is an open connection.
    expect((await one.gantryd.call('GET', '/1.0/containers/c1/state')).status).toBe(200);
  }, 90_000);
  afterAll(async () => {
    two.gantryd.signal('SIGCONT');
    await cluster.remove();
    bundle.remove();
  });

  const refusal = async (): Promise<string> => {
    const { status, metadata } = await one.gantryd.call('GET', '/1.0/containers/c1/state');
    expect([status, metadata]).toMatchObject([500, { code: 'unavailable' }]);
    return (metadata as { readonly message: string }).message;
  };

  test('keeps a request on an open connection waiting until its lease ends, and not until it thaws', async () => {
    two.gantryd.signal('SIGSTOP');
    const began = performance.now();
    expect(await refusal()).toContain(`The cluster member ${two.name} has stopped renewing its lease`);
    expect(performance.now() - began).toBeLessThan(30_000);
    expect((await one.gantryd.get(`/1.0/cluster/members/${two.name}`)).status).toBe('Offline');
  });

  test('is given a few seconds once it is offline', async () => {
    const began = performance.now();
    expect(await refusal()).toContain(`The cluster member ${two.name} cannot be reached`);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test('answers again when it has thawed', async () => {
    two.gantryd.signal('SIGCONT');
    await until(async () => (await one.gantryd.call('GET', '/1.0/containers/c1/state')).status === 200, 30_000);
  });
});
