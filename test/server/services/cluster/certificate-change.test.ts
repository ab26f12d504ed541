// The certificate of a cluster changes on a member at once, and the request ends when all others serve with it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ServingCertificate } from '../../../../server/auth/serving-certificate.ts';
import type { Member } from '../../../../server/membership/members.ts';
import { EventHub } from '../../../../server/events/hub.ts';
import { systemClock } from '../../../../server/lib/clock.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { type KeyAndCertificate } from '../../../../server/lib/self-signed.ts';
import { Records } from '../../../../server/records/records.ts';
import { daemonCaller } from '../../../../server/services/shared/caller.ts';
import { CertificateChange } from '../../../../server/services/cluster/certificate/certificate-change.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { makePair } from '../../../support/daemons/tls.ts';

const serverPair = (name: string): Promise<KeyAndCertificate> => makePair(name, { usage: 'server' });

describe('a member that is asked for another certificate of the cluster', () => {
  const dir = tempFolder('gantry-cert-');
  let first: KeyAndCertificate;
  beforeAll(async () => {
    first = await serverPair('first');
    writeFileSync(join(dir, 'cluster.crt'), first.certPem);
    writeFileSync(join(dir, 'cluster.key'), first.keyPem);
  });

  async function makeMember() {
    const records = await Records.open(openMemoryStore(), 1);
    await records.retry((changes) =>
      changes.put('cluster', 'config', { v: 1, uuid: 'u', nextNumber: 3, minVersion: '1.0.0' }),
    );
    const certificates = await ServingCertificate.open(dir, true);
    const other = { name: 'two', says: '', isPresent: true };
    const published: string[] = [];
    const warnings: string[] = [];
    const clock = { nowMs: 0, stepMs: 0 };
    const cluster = {
      isOn: true,
      publish: () => Promise.resolve(void published.push(certificates.current.fingerprint)),
      members: {
        reachable: () =>
          other.isPresent ? [{ name: other.name, present: { certificate: other.says } } as unknown as Member] : [],
      },
    };
    const change = new CertificateChange({
      stateDir: dir,
      records,
      cluster,
      certificates,
      events: new EventHub(systemClock()),
      clock: systemClock(),
      nowMs: () => (clock.nowMs += clock.stepMs),
      log: { ...silentLog, warn: (message) => warnings.push(message) },
      version: '1.0.0',
    });
    const ask = ({ certPem, keyPem }: KeyAndCertificate): Promise<void> =>
      change.update(daemonCaller, { cluster_certificate: certPem, cluster_certificate_key: keyPem });
    return { certificates, other, published, warnings, clock, change, ask };
  }

  test('serves it, publishes that, and answers when the other one serves it', async () => {
    const { certificates, other, published, change, ask } = await makeMember();
    const former = certificates.current.fingerprint;
    let isAnswered = false;
    const asked = ask(await serverPair('second')).finally(() => {
      isAnswered = true;
    });
    await until(() => published.length > 0);
    const next = certificates.current.fingerprint;
    expect([published, next === former, isAnswered]).toEqual([[next], false, false]);
    other.says = next;
    await asked;
    change.close();
  });

  test('waits for no offline member, and not endlessly for a silent one, which is named in the log', async () => {
    const { other, warnings, clock, change, ask } = await makeMember();
    other.isPresent = false;
    await ask(await serverPair('third'));
    other.isPresent = true;
    clock.stepMs = 2_000;
    await ask(await serverPair('fourth'));
    expect(warnings).toEqual([expect.stringContaining('two did not say in 10 s that it serves with it')]);
    change.close();
  });

  test('a superseded request ends without waiting', async () => {
    const { certificates, other, published, change, ask } = await makeMember();
    const overtaken = ask(await serverPair('fifth'));
    await until(() => published.length > 0);
    const asked = ask(await serverPair('sixth'));
    await overtaken;
    other.says = certificates.current.fingerprint;
    await asked;
    expect([published.length, published.at(-1)]).toEqual([2, other.says]);
    change.close();
  });
});
