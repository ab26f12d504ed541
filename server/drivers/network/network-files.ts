// Where a bridge network keeps its files and what this daemon remembers of it; touches no interface and no process.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ifMissing } from '../../lib/shared/missing-files.ts';
import { networkName } from '../../api/names.ts';
import { driverErrors } from '../driver-error.ts';
import type { NamedAcl } from './acl-rules.ts';
import type { NetworkHost } from './driver.ts';
import type { DnsmasqPlaces } from './dnsmasq/format.ts';

export interface NetworkRecord {
  readonly config: Readonly<Record<string, string>>;
  /** Absent: it has none. */
  readonly acls?: readonly NamedAcl[];
  /** Host interfaces that we made members of the bridge. */
  readonly external: readonly string[];
  /** Links of tunnels may exist, also of a config before this one. Absent in records of earlier releases. */
  readonly tunnels?: boolean;
  readonly hosts: readonly NetworkHost[];
  /** The bridge is about to be made and may lack its mark. */
  readonly creating: boolean;
}

export interface NetworkFiles {
  /** Set as alias on what this daemon makes; two daemons on a host have different ones. */
  readonly mark: string;
  readonly ownerId: string;
  read(name: string): Promise<NetworkRecord | undefined>;
  write(name: string, record: NetworkRecord): Promise<void>;
  /** Also writes raw dnsmasq configuration, and removes that of earlier configs. */
  places(name: string, rawDnsmasq: string): Promise<DnsmasqPlaces>;
  pidFile(name: string): string;
  leaseFile(name: string): string;
  /** True when the text differs from what was there. */
  writeHosts(name: string, text: string): Promise<boolean>;
  /** `all`: also leases and reservations, for a network that is gone for good. */
  remove(name: string, what: 'volatile' | 'all'): Promise<void>;
}

/** `dir` may be private. `runDir` must be readable by dnsmasq's unprivileged user: it reads its hosts file again and again. */
export function openNetworkFiles(dir: string, runDir: string): NetworkFiles {
  const ownerId = createHash('sha256').update(resolve(dir)).digest('hex').slice(0, 8);
  const ownDir = (name: string): string => join(dir, checked(name));
  const ownRunDir = (name: string): string => join(runDir, `${ownerId}-${checked(name)}`);
  const hostsFile = (name: string): string => join(ownRunDir(name), 'hosts');
  const pidFile = (name: string): string => join(ownRunDir(name), 'dnsmasq.pid');
  const leaseFile = (name: string): string => join(ownDir(name), 'dnsmasq.leases');
  const ensure = async (name: string): Promise<void> => {
    await mkdir(ownDir(name), { recursive: true, mode: 0o700 });
    await mkdir(ownRunDir(name), { recursive: true, mode: 0o755 });
  };
  return {
    ownerId,
    mark: `gantry:${ownerId}`,
    pidFile,
    leaseFile,
    async read(name) {
      const text = textOf(join(ownDir(name), 'network.json'));
      return text === undefined ? undefined : (JSON.parse(text) as NetworkRecord);
    },
    async write(name, record) {
      await ensure(name);
      await replaceFile(join(ownDir(name), 'network.json'), JSON.stringify(record));
    },
    async places(name, rawDnsmasq) {
      await ensure(name);
      const confFile = await placeRaw(ownDir(name), rawDnsmasq);
      const logFile = join(ownDir(name), 'dnsmasq.log');
      return { pidFile: pidFile(name), leaseFile: leaseFile(name), hostsFile: hostsFile(name), logFile, confFile };
    },
    async writeHosts(name, text) {
      if (textOf(hostsFile(name)) === text) return false;
      await ensure(name);
      await replaceFile(hostsFile(name), text);
      return true;
    },
    async remove(name, what) {
      await rm(ownRunDir(name), { recursive: true, force: true });
      if (what === 'all') await rm(ownDir(name), { recursive: true, force: true });
    },
  };
}

function checked(name: string): string {
  const broken = networkName(name);
  if (broken !== undefined) throw driverErrors.invalid(`network name ${JSON.stringify(name)} ${broken}`);
  return name;
}

/** The name of the file changes with its content, so that a running dnsmasq shows by its arguments what it has read. */
async function placeRaw(dir: string, rawDnsmasq: string): Promise<string> {
  const hash = createHash('sha256').update(rawDnsmasq).digest('hex').slice(0, 12);
  const wanted = rawDnsmasq === '' ? undefined : `raw-${hash}.conf`;
  for (const file of await readdir(dir)) {
    if (/^raw-.*\.conf$/.test(file) && file !== wanted) await rm(join(dir, file), { force: true });
  }
  if (wanted === undefined) return '/dev/null';
  await replaceFile(join(dir, wanted), `${rawDnsmasq}\n`);
  return join(dir, wanted);
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o644 });
  await rename(`${path}.new`, path);
}

/** Undefined where there is no such file. They are small, and each start of a container asks for several: a thread takes longer. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return ifMissing(error);
  }
}
