// The paths of the LXC driver: files below its directory, cgroups below its own names. Creates nothing.
import { dirTag, encodeName } from './safe-names.ts';

/** The group that the container owns and sees, below the one with its limits. */
export const innerGroup = 'ns';

export class LxcPaths {
  readonly lxcPath: string;
  readonly exits: string;
  /** Programs that lxc-start finds instead of the host's. */
  readonly hidingDir: string;
  /** Part of names on the host, to recognise our own. */
  readonly tag: string;
  readonly #dir: string;
  /** Parent of the cgroups of all daemons of a host. */
  readonly sharedGroup = 'gantry';
  /** Parent of the cgroups of all containers. */
  readonly groupRoot: string;

  /** `dir` with all links resolved: two daemons with different directories share no name. LXC requires that a container's root can traverse
   *  its path, which private directories do not allow; files here live as long as the containers: until the host goes down. */
  constructor(dir: string, runDir = '/run/gantry') {
    this.#dir = dir;
    this.tag = dirTag(dir);
    this.lxcPath = `${runDir}/runtime-${dirTag(dir)}`;
    this.exits = `${dir}/exits`;
    this.hidingDir = `${dir}/programs`;
    this.groupRoot = `${this.sharedGroup}/${dirTag(dir)}`;
  }

  /** The container's name for LXC, paths and cgroups. */
  key(name: string): string {
    return encodeName(name);
  }
  containerDir(name: string): string {
    return `${this.lxcPath}/${encodeName(name)}`;
  }
  configFile(name: string): string {
    return `${this.containerDir(name)}/config`;
  }
  stateFile(name: string): string {
    return `${this.containerDir(name)}/run.json`;
  }
  seccompFile(name: string): string {
    return `${this.containerDir(name)}/seccomp`;
  }
  /** The mount point of the root file system through the container's id map. */
  mappedRootfs(name: string): string {
    return `${this.containerDir(name)}/rootfs`;
  }
  /** The same for the mount with this number. */
  mappedMount(name: string, index: number): string {
    return `${this.containerDir(name)}/mount-${index}`;
  }
  /** Keeps the network namespace of a container that has a host interface. */
  namespaceFile(name: string): string {
    return `${this.containerDir(name)}/netns`;
  }
  nodesDir(name: string): string {
    return `${this.#dir}/nodes/${encodeName(name)}`;
  }
  /** The cgroup with the container's limits, below every hierarchy's root. */
  group(name: string): string {
    return `${this.groupRoot}/${encodeName(name)}`;
  }
  initGroup(name: string): string {
    return `${this.group(name)}/${innerGroup}`;
  }
  /** Name of the container's AppArmor profile and of its namespace: Debian lets lxc-start change only to `lxc-` profiles. */
  apparmorName(name: string): string {
    return `lxc-gantry-${this.tag}-${encodeName(name)}`;
  }
  apparmorFile(name: string): string {
    return `${this.containerDir(name)}/apparmor.profile`;
  }
  monitorGroup(name: string): string {
    return `${this.groupRoot}.monitor/${encodeName(name)}`;
  }
  /** Parents of all groups above, removed once empty. */
  get groupParents(): readonly string[] {
    return [this.groupRoot, `${this.groupRoot}.monitor`, this.pivotGroup];
  }
  /** Where monitors wait for their own end while their group is removed. */
  get pivotGroup(): string {
    return `${this.groupRoot}.pivot`;
  }
}
