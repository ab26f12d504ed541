// Runs the store suite on etcd, with one member and with three.
import { afterAll, beforeAll, describe } from 'vitest';
import { storeConformance } from '../../../conformance/store.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../../support/store/etcd.ts';
import { openEtcd } from '../../../support/store/open.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined).each([1, 3])('with %i members', (members) => {
  let etcd: TestEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ members });
  });
  afterAll(() => etcd?.stop());
  storeConformance('etcd', () => openEtcd(etcd));
});
