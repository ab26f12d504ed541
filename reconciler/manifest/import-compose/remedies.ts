// Keys of services that are converted, and what to do about the others.
import { tmpfsRemedy } from './mounts.ts';

/** Keys that are converted, or that have no meaning here. */
export const carried = new Set(
  'image container_name environment ports volumes mem_limit cpus cpuset pids_limit ulimits privileged restart depends_on networks deploy expose stdin_open tty init platform pull_policy'.split(
    ' ',
  ),
);

const service = 'a container runs its own init: make a service of it (files: and exec:)';
const copies = 'write a document for each of them, under names of their own';
const device = 'write a device of the container (gantry explain container.devices)';
const inside = 'set it in the service inside the container';
const rights =
  'a container has the rights of a system without those over the host; security. keys change that (gantry explain container.config)';

export const resolvedFile = 'import what docker compose config prints';

/** Sections of the file that are converted, or that have no meaning here. */
export const carriedSections = new Set(['version', 'name', 'services', 'networks', 'volumes']);

const files = 'write them as files of the containers (files:)';

export const sectionRemedies: Readonly<Record<string, string>> = {
  secrets: files,
  configs: files,
  include: resolvedFile,
};

export const remedies: Readonly<Record<string, string>> = {
  build: 'a system image is not built from a Dockerfile: install the service in the container (exec:, or cloud-init)',
  cap_add: rights,
  cap_drop: rights,
  command: service,
  configs: 'write them as files of the container (files:)',
  devices: device,
  dns: 'the network gives it (dns.* of kind: network, or files:)',
  domainname: 'the network gives it: dns.domain of kind: network',
  entrypoint: service,
  extends: `it extends a service of another file: ${resolvedFile}`,
  extra_hosts: 'write them into /etc/hosts (files:)',
  gpus: device,
  healthcheck: 'say when it is ready with manage.wait',
  hostname: 'the name of a container is its host name; containers find each other by it',
  labels: 'write them as labels:',
  logging: 'the init of the container keeps its log; gantry logs shows the console',
  network_mode: 'every container has a network of its own: write the nic that it needs',
  profiles: 'each service becomes a container: delete those that you do not want',
  read_only: 'the root of a system is written to: set readonly on other disks',
  scale: copies,
  secrets: 'write them as files of the container (files:)',
  security_opt: rights,
  shm_size: tmpfsRemedy,
  stop_grace_period: inside,
  stop_signal: inside,
  sysctls: 'set them in the container (/etc/sysctl.d, by files:)',
  tmpfs: tmpfsRemedy,
  user: inside,
  working_dir: inside,
};

export const deployRemedies: Readonly<Record<string, string>> = {
  replicas: copies,
  mode: copies,
  restart_policy: 'the init of the container restarts its services; boot.autostart starts the container',
  labels: 'write them as labels:',
};
