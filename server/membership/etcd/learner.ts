// Turns the data of a learner into a single-member etcd. `--force-new-cluster` cannot do that: it ends because no voter is left. So the
// data catch up with the log, and etcd's tool makes a new etcd of the database file.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exec } from '../../lib/exec.ts';
import { silentLog } from '../../lib/log.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { onlyIssuer, writeEtcdCertificates } from './certificates.ts';
import type { EtcdStart } from './etcd-flags.ts';
import { EtcdProcess } from './etcd-process.ts';
import { findTool } from './etcd-program.ts';
import { freeAddress } from './free-address.ts';
import { programEnv } from '../../lib/program-env.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export const dataDir = 'data';
/** Where the learner's data are kept while the new data take their place. */
export const exchangedDir = 'data.without-vote';

interface Program {
  readonly etcdPath?: string;
}

const lookMs = 250;
const replayMs = 60_000;
const restoreMs = 600_000;

/** Applies the whole log to the database file. Resolves whether the etcd is a learner. */
export async function replay(start: EtcdStart, { etcdPath }: Program): Promise<{ readonly isLearner: boolean }> {
  const metricsAddress = await freeAddress();
  const alone = { clientAddress: await freeAddress(), peerAddress: await freeAddress(), metricsAddress };
  // A separate authority keeps other etcds that may still run from talking to it.
  const tlsDir = join(start.dir, 'replay-tls');
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const keyPem = stranger.export({ type: 'pkcs8', format: 'pem' }).toString();
  const etcd = new EtcdProcess({ log: silentLog, ...withoutUndefined({ etcdPath }) });
  try {
    const tls = await writeEtcdCertificates(tlsDir, onlyIssuer(keyPem), { name: start.name, hosts: ['127.0.0.1'] });
    await etcd.start({ ...start, ...alone, tls });
    return await settled(metricsAddress);
  } finally {
    await etcd.stop();
    await rm(tlsDir, { recursive: true, force: true });
  }
}

/** Resolves when two reads in a row show that nothing more was applied. */
async function settled(address: string): Promise<{ readonly isLearner: boolean }> {
  const end = performance.now() + replayMs;
  for (let before = ''; ;) {
    const text = await fetch(`http://${address}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    const applied = metric(text, 'etcd_server_proposals_applied_total');
    if (applied !== '' && applied === before) return { isLearner: metric(text, 'etcd_server_is_learner') === '1' };
    if (performance.now() >= end) throw new Error('the etcd of this host does not read its data');
    before = applied;
    await pause(lookMs, undefined);
  }
}

const metric = (text: string, name: string): string => new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? '';

/** Throws an Error that says what to install. */
export async function makeOnlyVoter({ dir, name, peerAddress }: EtcdStart, { etcdPath }: Program): Promise<void> {
  const tool = findTool(etcdPath === undefined ? undefined : dirname(etcdPath));
  if (tool === undefined)
    throw new Error(
      'the etcd of this host has a copy of the records without a vote, and only the program etcdctl or etcdutl makes one with a vote of it: install it (apt-get install etcd-client) and run this again',
    );
  const [data, restored, former] = [dataDir, 'data.restored', exchangedDir].map((each) => join(dir, each)) as [
    string,
    string,
    string,
  ];
  await finishExchange(dir);
  await rm(restored, { recursive: true, force: true });
  const peer = `https://${peerAddress}`;
  const argv = [
    [tool, 'snapshot', 'restore', join(data, 'member/snap/db'), '--skip-hash-check'],
    [`--name=${name}`, `--initial-cluster=${name}=${peer}`, `--initial-advertise-peer-urls=${peer}`],
    [`--initial-cluster-token=${name}-${Date.now()}`, `--data-dir=${restored}`],
  ].flat();
  await exec(argv, { env: { ...programEnv, ETCDCTL_API: '3' }, cwd: dir, timeoutMs: restoreMs });
  await rename(data, former);
  await rename(restored, data);
  await rm(former, { recursive: true, force: true });
}

/** Finishes an earlier run that ended between its last steps. */
export async function finishExchange(dir: string): Promise<void> {
  const [data, former] = [join(dir, dataDir), join(dir, exchangedDir)];
  if (!existsSync(former)) return;
  if (existsSync(data)) await rm(former, { recursive: true, force: true });
  else await rename(former, data);
}
