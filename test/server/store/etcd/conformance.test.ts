// Runs the store suite on an etcd as one of many writers; a long run also on three etcds, which store-model.test.ts and faults.test.ts have.
import { afterAll, beforeAll, describe } from 'vitest';
import { storeConformance } from '../../../conformance/store.ts';
import { isLongRun } from '../../../support/left-out.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../../support/store/etcd.ts';
import { openEtcd } from '../../../support/store/open.ts';

const missing = etcdMissing();

describe
  .skipIf(missing !== undefined)
  .each([{ members: 1, writer: 'one-of-many' }, ...(isLongRun ? [{ members: 3, writer: undefined }] : [])])(
  'with $members members',
  ({ members, writer }) => {
    let etcd: TestEtcd;
    beforeAll(async () => {
      etcd = await startEtcd({ members });
    });
    afterAll(() => etcd?.stop());
    storeConformance('etcd', () => openEtcd(etcd, writer));
  },
);
