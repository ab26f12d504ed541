// A cluster of Ceph for a booted machine: its daemons run on this machine, from the base tree that has them, because emulated ones are ten
// to twenty times slower. The machine reaches it through the user network of qemu.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { clusterScript, stopDaemons } from '../support/drivers/ceph-cluster.ts';
import { clusterFolder } from '../support/drivers/storage-ceph.ts';
import { cacheFolder, type BaseDisk } from './base-disk.ts';
import type { Machine } from './machine.ts';
import { serveCommands, standIn } from './outer-commands.ts';
import { program } from './program.ts';

/** An address for documentation (RFC 5737), on the loopback device while the cluster runs. */
const address = '192.0.2.9';
const port = '6789';
/** Where the daemons and their clients find the cluster's files. */
const folder = '/srv/cluster';

/** Begins a script that runs the suite of storage drivers in the machine, so that it uses the cluster, with stand-ins for the programs. They
 *  are where the product looks first, whatever its PATH. The daemon of the machine uses the programs themselves. */
export const onCluster = `export GANTRY_CEPH_CLUSTER=ceph
  trap 'cd /usr/local/bin; rm ceph rbd rados' EXIT
  ln -s ${folder}/bin/* /usr/local/bin`;

export interface OuterCluster {
  /** Gives the booted machine its network, and the keys of the cluster. */
  readonly introduce: (host: Machine) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The daemons keep the mounts of the tree, which no other process sees. */
const startScript = `
  disk=$1 tree=$2 kept=$3
  mount -o ro,loop "$disk" "$tree"
  mount -t proc proc "$tree/proc"; mount --rbind /dev "$tree/dev"
  for each in etc/ceph tmp run; do mount -t tmpfs tmpfs "$tree/$each"; done
  mount --bind "$kept" "$tree/srv"
  chroot "$tree" sh -c "$4" sh ceph ${folder} ${address} ${port}
  cp "$tree/etc/ceph/ceph.conf" "$kept/ceph.conf"`;

export async function startOuterCluster({ disk }: BaseDisk): Promise<OuterCluster> {
  const kept = await clusterFolder();
  const tree = await mkdtemp(join(cacheFolder, 'tree-'));
  let server: Server | undefined;
  const close = async (): Promise<void> => {
    server?.close();
    stopDaemons(join(kept, 'cluster/run'));
    for (const each of [kept, tree]) await rm(each, { recursive: true, force: true });
    // No program of the lane starts after a signal.
    spawnSync('ip', ['address', 'delete', `${address}/32`, 'dev', 'lo']);
  };
  try {
    await program('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo']);
    await mkdir(join(kept, 'cluster'), { recursive: true });
    const apart = ['--mount', '--propagation', 'private', 'bash', '-euc', startScript, 'bash'];
    await program('unshare', [...apart, disk, tree, kept, clusterScript]);
    const pid = (await readFile(join(kept, 'cluster/run/mon.x.pid'), 'utf8')).trim();
    server = await serveCommands(address, ['nsenter', '--mount', `--target=${pid}`, 'chroot', tree]);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    close,
    introduce: async (host) => {
      const [conf, keyring] = await Promise.all(
        ['ceph.conf', 'cluster/keyring'].map((name) => readFile(join(kept, name), 'utf8')),
      );
      await host.run(`
        device=$(basename "$(dirname /sys/class/net/*/device)")
        ip link set "$device" up; ip address add 10.0.2.15/24 dev "$device"; ip route add default via 10.0.2.2
        mkdir -p ${folder}/run ${folder}/bin
        cat >${folder}/bin/ceph <<'END'\n${standIn({ address, port, keyring: `${folder}/keyring` })}\nEND
        chmod 755 ${folder}/bin/ceph; for each in rbd rados; do ln -s ceph ${folder}/bin/$each; done
        cat >/etc/ceph/ceph.conf <<'END'\n${conf}\nEND
        cat >${folder}/keyring <<'END'\n${keyring}\nEND`);
    },
  };
}
