// The etcd of this host in a change of the cluster's keys. The program here is one that only waits.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clientOf, peerOf } from '../../../server/daemon/stores/etcd-place.ts';
import { OwnEtcdProcess } from '../../../server/daemon/stores/own-etcd-process.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { newGeneration } from '../../../server/membership/keys/keyring.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const dir = tempFolder('own-etcd-');
const address = '127.0.0.1:8443';

test('an etcd that starts after a change of keys, and before its files have them, is started again', async () => {
  const etcdPath = join(dir, 'etcd');
  writeFileSync(etcdPath, '#!/bin/sh\n[ "$1" = --version ] && exec echo "etcd Version: 3.4.23"\nexec sleep 600\n');
  chmodSync(etcdPath, 0o755);
  const keys = [1, 2].map((generation) => ({ generation, keyPem: newGeneration(generation).authority }));
  const [shown = expect.unreachable()] = keys;
  let trusted = [shown];
  const own = new OwnEtcdProcess({ stateDir: dir, log: silentLog, etcdPath, issuers: () => ({ trusted, shown }) });
  await own.storeFor(address, '');
  trusted = keys;
  const addresses = { clientAddress: clientOf(address), peerAddress: peerOf(address) };
  const noted = { name: 'm1', ...addresses, first: { kind: 'join' as const, peers: [] } };
  onTestFinished(() => own.stop());
  await own.join(noted);
  await own.storeFor(address, '');
  expect(own.trustsOthers).toBe(true);
  await own.stop();
  await own.startAgain(noted);
  expect(own.trustsOthers).toBe(false);
});
