// A cluster of Ceph on this host, without its kernel modules: a monitor, a manager, three OSDs in files and a metadata server.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../../../server/drivers/storage/programs.ts';

/** A shell script. Arguments: the name of the cluster, a new directory for its files, an address of this host, a free port of it. */
export const clusterScript = `
set -eu
name=$1 dir=$2 address=$3 port=$4 conf=/etc/ceph/$1.conf fsid=$(uuidgen)
mkdir -p /etc/ceph "$dir/run" "$dir/mon" "$dir/mgr" "$dir/mds"
cat >"$conf" <<END
[global]
fsid = $fsid
mon host = v2:$address:$port/0
public addr = $address
cluster addr = $address
keyring = $dir/keyring
run dir = $dir/run
admin socket = $dir/run/\\$name.\\$pid.asok
log file = $dir/\\$name.log
pid file = $dir/run/\\$name.pid
mon data = $dir/mon
osd data = $dir/osd\\$id
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
for n in 0 1 2; do key osd.$n --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'; done
key mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *' --cap mds 'allow *'
key mds.x --cap mon 'allow profile mds' --cap osd 'allow rwx' --cap mds 'allow *' --cap mgr 'allow profile mds'
monmaptool --create --addv x "[v2:$address:$port]" --fsid "$fsid" "$dir/monmap" >/dev/null
ceph-mon --cluster "$name" --mkfs -i x --monmap "$dir/monmap" --keyring "$dir/keyring"
ceph-mon --cluster "$name" -i x
ceph --cluster "$name" auth import -i "$dir/keyring" 2>/dev/null
for n in 0 1 2; do
  uuid=$(uuidgen); mkdir "$dir/osd$n"
  ceph --cluster "$name" osd new "$uuid" >/dev/null
  ceph-osd --cluster "$name" -i $n --mkfs --osd-uuid "$uuid" 2>/dev/null
  ceph-osd --cluster "$name" -i $n 2>/dev/null
done
ceph-mgr --cluster "$name" -i x
ceph-mds --cluster "$name" -i x
until ceph --cluster "$name" osd stat | grep -q '3 up'; do sleep 0.5; done
`;

/** Adds a CephFS called files to it, unless it has one. Arguments: the name of the cluster. */
export const fileSystemScript = `
set -eu
ceph() { command ceph --cluster "$name" "$@"; }
name=$1
if ! ceph fs ls | grep 'name: files,'; then
  ceph osd pool create files-meta 8 8
  ceph osd pool create files-data 8 8
  ceph fs new files files-meta files-data
fi
until ceph mds stat | grep up:active; do sleep 0.5; done
# Until the manager has counted, nothing is free.
until ceph df --format json | grep '"max_avail":[1-9]'; do sleep 0.5; done
`;

/** Removes all pools but those of the cluster itself. Arguments: the name of the cluster. */
const emptyScript = `
set -eu
ceph() { command ceph --cluster "$name" "$@"; }
name=$1
if ceph fs ls | grep 'name: files,'; then ceph fs fail files; ceph fs rm files --yes-i-really-mean-it; fi
for pool in $(ceph osd pool ls | grep -v -e '^[.]' -e '^device_health_metrics'); do
  ceph osd pool rm "$pool" "$pool" --yes-i-really-really-mean-it
done
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
  readonly close: () => void;
}

/** A running cluster that tests use in place of one of their own: its name in /etc/ceph. Closing it removes what they made. */
const given = process.env['GANTRY_CEPH_CLUSTER'];

/** `dir` does not exist yet. */
export function startCluster(name: string, dir: string): CephCluster {
  if (given !== undefined) return clusterOf(given, () => runScript(emptyScript, [given]));
  const port = 20_000 + (process.pid % 20_000);
  const close = (): void => {
    stopDaemons(join(dir, 'run'));
    for (const path of [`/etc/ceph/${name}.conf`, dir]) rmSync(path, { recursive: true, force: true });
  };
  try {
    runScript(clusterScript, [name, dir, '127.0.0.1', String(port)]);
  } catch (error) {
    close();
    throw error;
  }
  return clusterOf(name, close);
}

function runScript(script: string, args: readonly string[]): void {
  execFileSync('sh', ['-c', script, 'sh', ...args], { timeout: 600_000, stdio: 'pipe' });
}

const clusterOf = (name: string, close: () => void): CephCluster => ({
  name,
  run: (program, ...args) =>
    execFileSync(program, ['--cluster', name, ...args], { encoding: 'utf8', timeout: 300_000, stdio: 'pipe' }).trim(),
  close,
});

/** Kills the daemons of a cluster. `run`: the folder of their pid files, which may not be there yet. */
export function stopDaemons(run: string): void {
  const files = existsSync(run) ? readdirSync(run).filter((each) => each.endsWith('.pid')) : [];
  const pids = files.map((file) => Number(readFileSync(join(run, file), 'utf8')));
  for (const pid of pids) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
}
