// Etcds as the daemon runs them, for tests: each supervised, with certificates of one cluster key, on free ports.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onlyIssuer, type EtcdTlsFiles, writeEtcdCertificates } from '../../../server/membership/etcd/certificates.ts';
import type { EtcdFirstStart, EtcdStart, EtcdTuning } from '../../../server/membership/etcd/etcd-flags.ts';
import { EtcdProcess } from '../../../server/membership/etcd/etcd-process.ts';
import { freePort } from '../hosts/free-port.ts';
import { makePair } from '../daemons/tls.ts';

export interface SupervisedEtcd {
  readonly process: EtcdProcess;
  readonly start: EtcdStart;
}

export interface EtcdNest {
  readonly dir: string;
  readonly logged: string[];
  /** A member that was not started yet. */
  member(name: string, first: EtcdFirstStart, tuning?: EtcdTuning): Promise<SupervisedEtcd>;
  /** The client certificates, as files and loaded. */
  readonly files: EtcdTlsFiles;
  readonly tls: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
  close(): Promise<void>;
}

export async function openEtcdNest(): Promise<EtcdNest> {
  const dir = mkdtempSync(join(tmpdir(), 'gantry-etcds-'));
  const { keyPem } = await makePair('cluster', { usage: 'server' });
  const logged: string[] = [];
  const write = (level: string) => (message: string) => void logged.push(`${level} ${message}`);
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const members: SupervisedEtcd[] = [];
  const files = await writeEtcdCertificates(join(dir, 'client'), onlyIssuer(keyPem), { name: 'client', hosts: [] });
  const tls = { ca: readFileSync(files.ca), cert: readFileSync(files.cert), key: readFileSync(files.key) };
  return {
    dir,
    logged,
    files,
    tls,
    member: async (name, first, tuning) => {
      const own = join(dir, name);
      const start: EtcdStart = {
        dir: join(own, 'etcd'),
        name,
        clientAddress: `127.0.0.1:${await freePort()}`,
        peerAddress: `127.0.0.1:${await freePort()}`,
        first,
        tls: await writeEtcdCertificates(join(own, 'tls'), onlyIssuer(keyPem), { name, hosts: ['127.0.0.1'] }),
        ...(tuning === undefined ? {} : { tuning }),
      };
      const member = { process: new EtcdProcess({ log, firstPauseMs: 100 }), start };
      members.push(member);
      return member;
    },
    close: async () => {
      await Promise.all(members.map(({ process }) => process.stop()));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
