// Two services from one profile, each with a limit, a role, a file with that role, and daily snapshots; one has its data in a volume.
// For Terraform and for gantry.
import { App, TerraformOutput } from 'cdktn';
import { GantryStack, nic, rootDisk, volumeDisk, type Devices } from 'gantry/cdktn';

const app = new App();
const stack = new GantryStack(app, 'services');
const pool = stack.pool('cdkservices');
const network = stack.network('cdkservices0', { ipv4: '10.129.0.1/24', ipv6: 'none', nat: true });
const image = stack.image('cdkservices/busybox', {
  file: process.env['IMAGE'] ?? 'examples/quickstart/busybox.tar.gz',
});
const base = stack.profile('cdkservices', { devices: { root: rootDisk(pool), eth0: nic(network) } });
const data = stack.volume('cdkservices-data', pool);

interface Service {
  readonly memory: string;
  readonly devices?: Devices;
}

const services: Readonly<Record<string, Service>> = {
  web: { memory: '64MiB' },
  db: { memory: '96MiB', devices: { data: volumeDisk(data, '/data') } },
};

for (const [name, { memory, devices }] of Object.entries(services)) {
  const container = stack.container(name, {
    name: `cdkservices-${name}`,
    image,
    profiles: [base],
    limits: { memory },
    devices,
    config: { 'user.role': name },
    files: { '/etc/role': { content: `${name}\n`, mode: '0644' } },
    exec: { greet: { command: ['echo', `this is ${name}`], on: 'create' } },
    snapshots: { schedule: '@daily', expiry: '7d' },
    stopTimeout: 3,
  });
  new TerraformOutput(stack, `${name}-status`, { value: container.status });
}

app.synth();
