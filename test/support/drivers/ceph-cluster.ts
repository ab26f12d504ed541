// A cluster of Ceph on this host, without its kernel modules: a monitor, a manager, and an OSD in a file. Also for booted machines.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../../../server/drivers/storage/programs.ts';

/** A shell script. Arguments: the name of the cluster, a new directory for its files, a free port. */
export const clusterScript = `
set -eu
name=$1 dir=$2 port=$3 conf=/etc/ceph/$1.conf uuid=$(uuidgen) fsid=$(uuidgen)
mkdir -p /etc/ceph "$dir/run" "$dir/mon" "$dir/osd" "$dir/mgr" "$dir/mds"
cat >"$conf" <<END
[global]
fsid = $fsid
mon host = v2:127.0.0.1:$port/0
public addr = 127.0.0.1
cluster addr = 127.0.0.1
keyring = $dir/keyring
run dir = $dir/run
admin socket = $dir/run/\\$name.\\$pid.asok
log file = $dir/\\$name.log
pid file = $dir/run/\\$name.pid
mon data = $dir/mon
osd data = $dir/osd
mgr data = $dir/mgr
mds data = $dir/mds
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
mon allow pool delete = true
osd crush chooseleaf type = 0
mon max pg per osd = 5000
bluestore block size = 8589934592
bluestore cache size = 67108864
mon data avail warn = 1
mon data avail crit = 0
mgr initial modules =
[client]
log file =
pid file =
admin socket =
rbd cache = false
END
key() { ceph-authtool "$dir/keyring" --gen-key -n "$@" >/dev/null; }
: >"$dir/keyring"
key mon. --cap mon 'allow *'
key client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *' --cap mgr 'allow *'
key osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'
key mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *' --cap mds 'allow *'
key mds.x --cap mon 'allow profile mds' --cap osd 'allow rwx' --cap mds 'allow *' --cap mgr 'allow profile mds'
monmaptool --create --addv x "[v2:127.0.0.1:$port]" --fsid "$fsid" "$dir/monmap" >/dev/null
ceph-mon --cluster "$name" --mkfs -i x --monmap "$dir/monmap" --keyring "$dir/keyring"
ceph-mon --cluster "$name" -i x
ceph --cluster "$name" osd new "$uuid" >/dev/null
ceph-osd --cluster "$name" -i 0 --mkfs --osd-uuid "$uuid" 2>/dev/null
ceph-osd --cluster "$name" -i 0 2>/dev/null
ceph-mgr --cluster "$name" -i x
`;

/** Adds two OSDs to it. Arguments: the name of the cluster, and its directory. */
const osdsScript = `
set -eu
for n in 1 2; do
  uuid=$(uuidgen); mkdir "$2/osd$n"
  ceph-authtool "$2/keyring" --gen-key -n osd.$n --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'
  ceph --cluster "$1" auth import -i "$2/keyring"
  ceph --cluster "$1" osd new "$uuid"
  ceph-osd --cluster "$1" -i $n --osd-data "$2/osd$n" --mkfs --osd-uuid "$uuid"
  ceph-osd --cluster "$1" -i $n --osd-data "$2/osd$n" --pid-file "$2/run/osd$n.pid"
done
until ceph --cluster "$1" osd stat | grep '3 up'; do sleep 0.5; done
`;

/** Adds a CephFS called files to it. Arguments: the name of the cluster. */
export const fileSystemScript = `
set -eu
ceph() { command ceph --cluster "$name" "$@"; }
name=$1
ceph osd pool create files-meta 8 8
ceph osd pool create files-data 8 8
ceph fs new files files-meta files-data
ceph-mds --cluster "$name" -i x
until ceph mds stat | grep up:active; do sleep 0.5; done
# Until the manager has counted, nothing is free.
until ceph df --format json | grep '"max_avail":[1-9]'; do sleep 0.5; done
`;

export const cephPackages = ['ceph-mon', 'ceph-mgr', 'ceph-osd', 'ceph-mds', 'ceph-common'];

/** Why no cluster can run here; undefined if one can. */
export async function clusterMissing(more: readonly string[] = []): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'root is needed to mount';
  for (const program of ['ceph-mon', 'ceph-mgr', 'ceph-osd', 'ceph', 'rbd', ...more])
    if (!(await isInstalled(program)))
      return `the program ${program} is missing: install ceph-mon, ceph-mgr, ceph-osd, ceph-mds, ceph-common, rbd-fuse and ceph-fuse`;
  return undefined;
}

export interface CephCluster {
  readonly name: string;
  readonly run: (program: 'ceph' | 'rbd' | 'rados', ...args: readonly string[]) => string;
  /** Three are needed for erasure coding. */
  readonly addOsds: () => void;
  readonly close: () => void;
}

/** `dir` does not exist yet. */
export function startCluster(name: string, dir: string): CephCluster {
  const port = 20_000 + (process.pid % 20_000);
  const close = (): void => {
    stopDaemons(join(dir, 'run'));
    for (const path of [`/etc/ceph/${name}.conf`, dir]) rmSync(path, { recursive: true, force: true });
  };
  try {
    execFileSync('sh', ['-c', clusterScript, 'sh', name, dir, String(port)], { timeout: 600_000, stdio: 'pipe' });
  } catch (error) {
    close();
    throw error;
  }
  return {
    name,
    run: (program, ...args) =>
      execFileSync(program, ['--cluster', name, ...args], { encoding: 'utf8', timeout: 300_000, stdio: 'pipe' }).trim(),
    addOsds: () => void execFileSync('sh', ['-c', osdsScript, 'sh', name, dir], { timeout: 600_000, stdio: 'pipe' }),
    close,
  };
}

function stopDaemons(run: string): void {
  const files = readdirSync(run).filter((each) => each.endsWith('.pid'));
  const pids = files.map((file) => Number(readFileSync(join(run, file), 'utf8')));
  for (const pid of pids) process.kill(pid, 'SIGKILL');
}
