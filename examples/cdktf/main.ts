// A pool, a network, an image from a file, a profile and a container in it, for Terraform and for gantry.
import { App, TerraformOutput } from 'cdktf';
import { GantryStack, nic, rootDisk } from 'gantry/cdktf';

const app = new App();
const stack = new GantryStack(app, 'web');
const pool = stack.pool('cdkweb');
const network = stack.network('cdkweb0', { ipv4: '10.128.0.1/24', ipv6: 'none', nat: true });
const image = stack.image('cdkweb/busybox', { file: process.env['IMAGE'] ?? 'examples/quickstart/busybox.tar.gz' });
const devices = { root: rootDisk(pool), eth0: nic(network) };
const profile = stack.profile('cdkweb', { limits: { memory: '64MiB' }, devices });
const web = stack.container('cdkweb', {
  image,
  profiles: [profile],
  waitFor: [{ type: 'ipv4', nic: 'eth0' }],
  stopTimeout: 3,
});
new TerraformOutput(stack, 'address', { value: web.interfaces.get('eth0').ipv4Addresses });
app.synth();
