// The warnings of gantryd: the type as clients read it (LXD's if it has one), its severity, when it is seen and when it is over.

export type Severity = 'low' | 'moderate' | 'high';

export interface WarningTypeRow {
  readonly text: string;
  readonly severity: Severity;
  /** A sentence. */
  readonly seen: string;
  /** A sentence. */
  readonly over: string;
}

const cgroup = (what: string, limits: string): WarningTypeRow => ({
  text: `Couldn't find the CGroup ${what}`,
  severity: 'low',
  seen: `Containers have ${limits}, and the kernel of the host cannot enforce it.`,
  over: 'No container has such a limit any more, or the host can enforce it.',
});

export const warningTypes = {
  autostart: {
    text: 'Failed to autostart instance',
    severity: 'low',
    seen: 'A container that should run does not start with the daemon.',
    over: 'The container starts.',
  },
  lostMemberStart: {
    text: 'Failed to start container after loss of member',
    severity: 'high',
    seen: 'A container that came from a lost member, or that ended because its member was cut off, does not start.',
    over: 'The container starts.',
  },
  network: {
    text: 'Network unavailable',
    severity: 'high',
    seen: 'A network cannot be brought up; it is retried each minute.',
    over: 'The network is up.',
  },
  pool: {
    text: 'Storage pool unavailable',
    severity: 'high',
    seen: 'A storage pool cannot be mounted, which is retried each minute, or its directory is missing.',
    over: 'The pool can be used.',
  },
  offlineMember: {
    text: 'Offline cluster member',
    severity: 'low',
    seen: 'A member of the cluster is offline.',
    over: 'The member is back, or removed.',
  },
  guard: {
    text: 'Containers on shared storage are not guarded',
    severity: 'high',
    seen: 'A member that heals cannot guard its containers: they stay with it when it is lost.',
    over: 'They are guarded.',
  },
  store: {
    text: 'Store needs attention',
    severity: 'high',
    seen: 'The etcd with the records is full or nearly so, has damaged data, or keeps its old history; a member of a cluster keeps no copy of the records.',
    over: 'etcd works again, and the member keeps a copy.',
  },
  clusterCertificate: {
    text: 'Unable to update cluster certificate',
    severity: 'low',
    seen: 'A member keeps the former certificate of the cluster.',
    over: 'The member serves with the new one.',
  },
  diskFull: {
    text: 'Disk of the server full',
    severity: 'high',
    seen: 'The disk with the records of the server is full, so that the server is read-only.',
    over: 'The disk has room.',
  },
  unsyncedFiles: {
    text: 'Files of instance lost in power cut',
    severity: 'high',
    seen: 'The host went down within about a minute after a container was created, before its files were on the disk: some may be empty or missing.',
    over: 'The container is deleted. If its files are intact, acknowledge or delete the warning by hand.',
  },
  listener: {
    text: 'Address unavailable',
    severity: 'moderate',
    seen: 'The server cannot listen on core.https_address, core.metrics_address or core.debug_address.',
    over: 'The server listens there, or the key has another value.',
  },
  maas: {
    text: 'Unable to connect to MAAS',
    severity: 'moderate',
    seen: 'The MAAS server does not answer, or refuses the addresses of a container; it is retried each minute.',
    over: 'MAAS has the addresses of all containers with `maas.subnet.*`.',
  },
  undo: {
    text: 'Failed change not undone',
    severity: 'moderate',
    seen: 'A change failed, and undoing it fails, too; it is retried automatically.',
    over: 'It is undone.',
  },
  scheduledSnapshot: {
    text: 'Scheduled snapshot failed',
    severity: 'moderate',
    seen: 'The snapshot that `snapshots.schedule` asks for was not taken, of a container or of a volume.',
    over: 'The next one is taken.',
  },
  imageUpdate: {
    text: 'Image update failed',
    severity: 'low',
    seen: 'An image with `auto_update` could not be brought up to date.',
    over: 'The next update succeeds.',
  },
  rootSize: {
    text: 'Size of root disks not enforced',
    severity: 'moderate',
    seen: 'Root disks have a `size`, and their pool cannot limit a directory: containers can fill the pool.',
    over: 'No root disk in the pool has a size any more.',
  },
  apparmor: {
    text: 'AppArmor support has been disabled',
    severity: 'low',
    seen: 'The kernel has no AppArmor: containers have no profile.',
    over: 'The daemon finds it at a start.',
  },
  apparmorParser: {
    text: 'Containers run unconfined',
    severity: 'high',
    seen: 'The kernel has AppArmor, but there is no `apparmor_parser` to load the profiles of containers.',
    over: 'The daemon finds it at a start. Containers that run get their profile when they start again.',
  },
  cgroupBlkioWeight: cgroup('blkio.weight', '`limits.disk.priority`'),
  cgroupCpu: cgroup('CPU controller', '`limits.cpu.allowance` or `limits.cpu.priority`'),
  cgroupCpuset: cgroup('CPUset controller', '`limits.cpu`'),
  cgroupMemory: cgroup('memory controller', '`limits.memory`'),
  cgroupMemorySwap: cgroup('memory swap accounting', '`limits.memory.swap`'),
  cgroupPids: cgroup('pids controller', '`limits.processes`'),
} as const satisfies Record<string, WarningTypeRow>;

export type WarningType = keyof typeof warningTypes;
