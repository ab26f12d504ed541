// The manifests of `gantry init --template`. A test applies each unchanged; none needs an image or the network.

export interface Template {
  /** One line, for lists. */
  readonly about: string;
  /** File names to contents. */
  readonly files: Readonly<Record<string, string>>;
  /** The next command after `gantry`; `DIR` is replaced by the directory. */
  readonly next: string;
}

const editor = '# yaml-language-server: $schema=gantry.schema.json\n';
const basisWith = (network: string): string => `kind: storage_pool
name: main
driver: dir
---
kind: network
name: ${network}
type: bridge
config:
  ipv4.address: auto # a free subnet is picked
  ipv6.address: none
---
kind: profile
name: base
description: What containers here share
config:
  limits.memory: 512MiB
devices:
  root: { type: disk, path: /, pool: main }
  eth0: { type: nic, nictype: bridged, parent: ${network}, name: eth0 }
`;
const basis = basisWith('gantry0');
const image = `# Empty, to begin with. With an image on the server (gantry image list):
#   source: { type: image, alias: debian/12 }
#   state: running
`;

const container: Template = {
  about: 'a pool, a network, a profile and one container (the default)',
  next: 'plan DIR',
  files: {
    'stack.yaml': `${editor}# What is written here is compared and changed; all else on the host is left alone. The order does not matter.
# gantry plan shows what would happen, gantry apply does it, gantry explain container.config tells what may be written.
${basis}---
${image}kind: container
name: first
source: { type: none }
profiles: [base]
state: stopped
`,
  },
};

export interface FirstContainer {
  /** The document of its image, or empty. */
  readonly image: string;
  readonly alias: string;
  readonly name: string;
  readonly network: string;
}

/** A running container. */
export const firstContainer = ({ image, alias, name, network }: FirstContainer): Template['files'] => ({
  'stack.yaml': `${editor}# What is written here is compared and changed; all else on the host is left alone. The order does not matter.
# gantry plan shows what would happen, gantry apply does it, gantry explain container.config tells what may be written.
${basisWith(network)}---
${image}kind: container
name: ${JSON.stringify(name)}
source: { type: image, alias: ${JSON.stringify(alias)} }
profiles: [base]
state: running
`,
});

const database: Template = {
  about: 'a container with its data on a separate volume, with nightly snapshots, protected from deletion',
  next: 'plan DIR',
  files: {
    'stack.yaml': `${editor}${basis}---
kind: storage_volume
name: db-data
pool: main
description: Outlives the container
---
${image}kind: container
name: db
source: { type: none }
profiles: [base]
config:
  snapshots.schedule: 0 3 * * *
  snapshots.expiry: 2w
devices:
  data: { type: disk, pool: main, source: db-data, path: /var/lib/db }
state: stopped
manage:
  protect: true # no plan deletes or replaces it
`,
  },
};

const environments: Template = {
  about: 'one stack for several environments: variables, and overlays that change it (gantry apply --env prod)',
  next: 'plan DIR --env dev',
  files: {
    'stack.yaml': `${editor}kind: vars
vars:
  MEMORY: 256MiB
---
${basis}---
${image}kind: container
name: app
source: { type: none }
profiles: [base]
config:
  limits.memory: $MEMORY
state: stopped
`,
    'overlays/dev.vars.yaml': 'MEMORY: 128MiB\n',
    'overlays/prod.vars.yaml': 'MEMORY: 1GiB\n',
    'overlays/prod.yaml': `kind: container
name: app
patch: true
config:
  boot.autostart: true
`,
  },
};

const fleet: Template = {
  about: 'one stack for several hosts, rolled out batch by batch (gantry apply --hosts)',
  next: 'plan DIR/stack.yaml --hosts DIR/hosts.yaml',
  files: {
    'hosts.yaml': `kind: hosts
hosts:
  # Over the network: address: https://web1.example:8443, with client_cert, client_key and server_cert.
  - name: local
    address: unix:///var/lib/gantry/unix.socket
    labels: { role: web }
`,
    'stack.yaml': `${editor}${basis}---
${image}kind: container
name: app-$GANTRY_HOST_NAME
source: { type: none }
profiles: [base]
state: stopped
manage:
  hosts: role=web # only there
`,
  },
};

export const templates = { container, database, environments, fleet } as const satisfies Record<string, Template>;
