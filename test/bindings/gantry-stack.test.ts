// Synthesizes the constructs of both flavours: the JSON of a stack in ten lines, and references into maps in a form that Terraform
// accepts. test/e2e/terraform-json/cdk-examples.test.ts applies stacks.
import * as cdktf from 'cdktf';
import * as cdktn from 'cdktn';
import * as forCdktf from 'gantry/cdktf';
import * as forCdktn from 'gantry/cdktn';
import { describe, expect, test } from 'vitest';
import { mapKey } from '../../provider/bindings/cdktf/maps.ts';

type Bindings = typeof forCdktf;
type Cdk = typeof cdktf;
const flavours: readonly (readonly [string, Cdk, Bindings])[] = [
  ['cdktf', cdktf, forCdktf],
  // The same names with types of another package.
  ['cdktn', cdktn as unknown as Cdk, forCdktn as unknown as Bindings],
];

const withoutNotes = (body: Record<string, unknown>): object =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== '//'));

describe.each(flavours)('the bindings for %s', (_flavour, cdk, bindings) => {
  const { GantryStack, forwardPort, nic, rootDisk, volumeDisk } = bindings;
  const newStack = (server?: ConstructorParameters<typeof GantryStack>[2]): InstanceType<typeof GantryStack> =>
    new GantryStack(cdk.Testing.app(), 'test', server);
  // oxlint-disable-next-line typescript/no-explicit-any -- the tests read arbitrary members
  const synth = (stack: InstanceType<typeof GantryStack>): any => JSON.parse(cdk.Testing.synth(stack));

  test('A stack has pool, network, image, profile and container in a few lines', () => {
    const stack = newStack({ address: 'unix:///run/gantry.socket' });
    const pool = stack.pool('fast');
    const network = stack.network('lan0', { ipv4: '10.1.0.1/24', ipv6: 'none', nat: true });
    const image = stack.image('debian/12', { file: '/images/debian.tar.xz' });
    const devices = { root: rootDisk(pool, { size: '10GiB' }), eth0: nic(network) };
    const profile = stack.profile('small', { limits: { cpu: 2, memory: '64MiB' }, devices });
    stack.container('web', {
      image,
      profiles: [profile, 'default'],
      devices: { http: forwardPort('tcp::80', 'tcp::80') },
    });
    const { provider, resource } = synth(stack);
    expect(provider).toEqual({ gantry: [{ address: 'unix:///run/gantry.socket' }] });
    const byType = Object.values(resource as Record<string, Record<string, Record<string, unknown>>>);
    const plain = byType.flatMap((byId) => Object.entries(byId).map(([id, body]) => [id, withoutNotes(body)] as const));
    expect(Object.fromEntries(plain)).toEqual({
      'pool-fast': { name: 'fast', driver: 'dir' },
      'network-lan0': {
        name: 'lan0',
        config: { 'ipv4.address': '10.1.0.1/24', 'ipv4.nat': 'true', 'ipv6.address': 'none' },
      },
      'image-debian--12': { source: { type: 'file', file: '/images/debian.tar.xz' } },
      'alias-debian--12': { name: 'debian/12', target: '${gantry_image.image-debian--12.fingerprint}' },
      'profile-small': {
        name: 'small',
        config: { 'limits.cpu': '2', 'limits.memory': '64MiB' },
        devices: {
          root: { type: 'disk', path: '/', pool: '${gantry_storage_pool.pool-fast.name}', size: '10GiB' },
          eth0: { type: 'nic', nictype: 'bridged', parent: '${gantry_network.network-lan0.name}', name: 'eth0' },
        },
      },
      'container-web': {
        name: 'web',
        source: { type: 'image', alias: '${gantry_image_alias.alias-debian--12.name}' },
        profiles: ['${gantry_profile.profile-small.name}', 'default'],
        devices: { http: { type: 'proxy', listen: 'tcp::80', connect: 'tcp::80' } },
      },
    });
  });

  test('A stack omits missing options, and written config wins over derived keys', () => {
    const stack = newStack();
    const pool = stack.pool('p', { driver: 'btrfs', name: 'pool1' });
    const volume = stack.volume('data', pool, { config: { size: '1GiB' } });
    stack.network('n', { nat: true, ipv6: 'auto' });
    stack.container('a', {
      image: 'debian/12',
      limits: { memory: '1GiB', processes: 100 },
      config: { 'limits.memory': '2GiB' },
      devices: { data: volumeDisk(volume, '/data', { readonly: true }) },
    });
    stack.container('b', { image: '0123456789ab', profiles: [] });
    stack.container('c');
    const { resource } = synth(stack);
    const { gantry_container: containers } = resource;
    expect(resource.gantry_storage_pool['pool-p']).toMatchObject({ name: 'pool1', driver: 'btrfs' });
    expect(resource.gantry_network['network-n'].config).toEqual({ 'ipv6.address': 'auto', 'ipv6.nat': 'true' });
    expect(containers['container-a']).toMatchObject({
      config: { 'limits.memory': '2GiB', 'limits.processes': '100' },
      devices: {
        data: {
          type: 'disk',
          pool: '${gantry_storage_volume.volume-data.pool}',
          source: '${gantry_storage_volume.volume-data.name}',
          path: '/data',
          readonly: 'true',
        },
      },
    });
    expect(containers['container-b']).toMatchObject({
      profiles: [],
      source: { type: 'image', fingerprint: '0123456789ab' },
    });
    expect(withoutNotes(containers['container-c'])).toEqual({ name: 'c' });
  });

  test('Paths of images are relative to the app, and missing or contradictory sources are refused', () => {
    const stack = newStack();
    stack.image('split', { metadata: 'meta.tar', file: 'rootfs.squashfs' });
    stack.image('far', { source: { type: 'remote', server: 'https://images.example.org', alias: 'debian/12' } });
    const { gantry_image: images } = synth(stack).resource;
    expect(images['image-split'].source).toEqual({
      type: 'file',
      metadata: `${process.cwd()}/meta.tar`,
      file: `${process.cwd()}/rootfs.squashfs`,
    });
    expect(images['image-far'].source).toMatchObject({ type: 'remote', alias: 'debian/12' });
    expect(() => stack.image('none', {})).toThrow('image none has neither a file nor a source');
    expect(() => stack.image('two', { file: 'x', source: { type: 'url', url: 'https://example.org/x' } })).toThrow(
      'image two has both a file and a source',
    );
    expect(() => stack.container('two', { image: 'x', source: { type: 'none' } })).toThrow(
      'container two has both an image and a source',
    );
  });

  test('Paths of assets of the same stack stay unchanged, and assets of another stack are refused', () => {
    const stack = newStack();
    const asset = new cdk.TerraformAsset(stack, 'meta', { path: `${process.cwd()}/package.json` });
    stack.image('construct', { file: asset, metadata: asset.path });
    expect(synth(stack).resource.gantry_image['image-construct'].source).toEqual({
      type: 'file',
      file: asset.path,
      metadata: asset.path,
    });
    expect(asset.path).toMatch(/^assets\//);
    expect(() => newStack().image('x', { file: asset })).toThrow('which belongs to another stack');
  });

  test('References quote the keys of maps', () => {
    const stack = newStack();
    const web = stack.container('web', { files: { '/etc/motd': { content: 'x' } } });
    const all = new bindings.dataGantryContainers.DataGantryContainers(stack, 'all');
    const outputs = {
      nic: web.interfaces.get('eth0').macAddress,
      file: web.files.get('/etc/motd').sha256,
      device: web.expandedDevices.lookup('eth0').lookup('parent'),
      other: all.containers.get('db-1').status,
    };
    for (const [name, value] of Object.entries(outputs)) new cdk.TerraformOutput(stack, name, { value });
    expect(synth(stack).output).toEqual({
      nic: { value: '${gantry_container.container-web.interfaces["eth0"].mac_address}' },
      file: { value: '${gantry_container.container-web.files["/etc/motd"].sha256}' },
      device: { value: '${gantry_container.container-web.expanded_devices["eth0"]["parent"]}' },
      other: { value: '${data.gantry_containers.all.containers["db-1"].status}' },
    });
  });

  test('Devices can be those of another container, and a device that is undefined is left out', () => {
    const stack = newStack();
    const first = stack.container('a', { devices: { eth0: { type: 'nic' }, eth1: undefined } });
    stack.container('b', { devices: first.devices });
    const { 'container-a': a, 'container-b': b } = synth(stack).resource.gantry_container;
    expect([a.devices, b.devices]).toEqual([
      { eth0: { name: 'eth0', type: 'nic' } },
      '${gantry_container.container-a.devices}',
    ]);
  });

  test('A network takes nat from a variable', () => {
    const stack = newStack();
    const nat = new cdk.TerraformVariable(stack, 'nat', { type: 'bool' }).booleanValue;
    stack.network('n', { ipv4: 'auto', nat });
    expect(synth(stack).resource.gantry_network['network-n'].config).toEqual({
      'ipv4.address': 'auto',
      'ipv4.nat': '${var.nat}',
    });
  });

  test('A key that only Terraform knows is used as a reference', () => {
    const stack = newStack();
    const name = new cdk.TerraformVariable(stack, 'nic', { type: 'string', default: 'eth0' });
    const web = stack.container('web');
    new cdk.TerraformOutput(stack, 'mac', { value: web.interfaces.get(name.stringValue).macAddress });
    expect(synth(stack).output.mac.value).toBe('${gantry_container.container-web.interfaces[var.nic].mac_address}');
  });
});

test('Keys of maps are quoted as Terraform reads them', () => {
  expect(mapKey('a"b\\c')).toBe(String.raw`"a\"b\\c"`);
  expect(mapKey('${x}%{y}$z')).toBe('"$${x}%%{y}$z"');
  expect(mapKey('a\nb')).toBe(String.raw`"a\u000ab"`);
});
