// A member that freezes during requests of others: its kernel still accepts connections, but never answers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { asCandidate, type Member, threeMembers, type ThreeMembers } from '../../../support/cluster/three-members.ts';
import { done } from '../../../support/cluster/form.ts';
import { startExec, isGone, type Session } from '../../../support/daemons/channels.ts';
import { bundleDaemon, type Bundle } from '../../../support/daemons/child-process.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a frozen member', () => {
  let bundle: Bundle;
  let cluster: ThreeMembers;
  let one: Member;
  let two: Member;
  let session: Session;
  beforeAll(async () => {
    bundle = bundleDaemon();
    cluster = await threeMembers({ runtime: 'sim', gantryd: bundle.entry, etcdMembers: 1, isLocal: true });
    [one, two] = cluster.members as [Member, Member];
    await one.gantryd.patch('/1.0', { config: { 'cluster.offline_threshold': '5' } });
    const body = { name: 'c1', source: { type: 'none' } };
    await done(asCandidate(one), 'POST', `/1.0/containers?target=${two.name}`, body);
    await done(asCandidate(one), 'PUT', '/1.0/containers/c1/state', { action: 'start' });
    // Opens connections.
    const asked = Array.from({ length: 4 }, () => one.gantryd.call('GET', '/1.0/containers/c1/state'));
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
  });
  afterAll(async () => {
    two.gantryd.signal('SIGCONT');
    await cluster.remove();
  });

  const refusal = async (): Promise<string> => {
    const { status, metadata } = await one.gantryd.call('GET', '/1.0/containers/c1/state');
    expect([status, metadata]).toMatchObject([500, { code: 'unavailable' }]);
    return (metadata as { readonly message: string }).message;
  };

  test('keeps requests on open connections waiting until its lease ends, and the outcome of a change is unknown', async () => {
    const { socketPath } = one.gantryd;
    const server = {
      socketPath,
      call: (method: string, path: string, body?: object) => one.gantryd.call(method, path, body),
      wait: (operation: string) => one.gantryd.get(`${operation}/wait`) as Promise<Operation>,
    };
    session = await startExec(server, 'c1', { command: ['sleep', '600'], interactive: true });
    two.gantryd.signal('SIGSTOP');
    const began = performance.now();
    const change = one.gantryd.call('POST', '/1.0/containers/c1/exec', { command: ['true'] });
    expect(await refusal()).toContain(`The cluster member ${two.name} has stopped renewing its lease`);
    expect(performance.now() - began).toBeLessThan(30_000);
    expect((await one.gantryd.get(`/1.0/cluster/members/${two.name}`)).status).toBe('Offline');
    // The request is in the socket of the frozen member, which serves it after it thaws.
    expect((await change).metadata).toMatchObject({
      code: 'outcomeUnknown',
      message: expect.stringContaining(two.name),
    });
  });

  test('loses the channels of its commands with its lease', async () => {
    await Promise.all(Object.values(session.channels).map((channel) => isGone(channel)));
    expect((await one.gantryd.get(`/1.0/cluster/members/${two.name}`)).status).toBe('Offline');
  });

  test('gets only a few seconds per request once it is offline', async () => {
    const began = performance.now();
    expect(await refusal()).toContain(`The cluster member ${two.name} cannot be reached`);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test('answers again when it has thawed', async () => {
    two.gantryd.signal('SIGCONT');
    await until(async () => (await one.gantryd.call('GET', '/1.0/containers/c1/state')).status === 200);
  });
});
