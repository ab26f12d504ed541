// Proofs of verbs on network ACLs.
import { expect } from 'vitest';
import { edited, isGone, listed, name, type Proof, type World } from './world.ts';

export const networkAclProofs: Readonly<Record<string, Proof>> = {
  'network acl create': async (world) => expect((await acl(world)).object.ingress).toEqual([]),
  'network acl list': async (world) => listed(world, `${(await acl(world)).name},,0`, 'network', 'acl', 'list'),
  'network acl show': async (world) =>
    expect(await world.lxc('network', 'acl', 'show', (await acl(world)).name)).toMatch(/ingress: \[\]/),
  'network acl get': async (world) => {
    const made = await acl(world);
    await world.lxc('network', 'acl', 'set', made.name, 'user.a=1');
    expect(await world.lxc('network', 'acl', 'get', made.name, 'user.a')).toBe('1\n');
  },
  'network acl set': async (world) => {
    const made = await acl(world);
    await world.lxc('network', 'acl', 'set', made.name, 'user.a=1');
    expect((await made.read()).config).toEqual({ 'user.a': '1' });
  },
  'network acl unset': async (world) => {
    const made = await acl(world);
    await world.lxc('network', 'acl', 'set', made.name, 'user.a=1');
    await world.lxc('network', 'acl', 'unset', made.name, 'user.a');
    expect((await made.read()).config).toEqual({});
  },
  'network acl edit': async (world) => {
    const made = await acl(world);
    const words = (last: string): string[] => ['network', 'acl', last, made.name];
    await edited(world, words('show'), words('edit'), (text) => text.replace('description: ""', 'description: new'));
    expect((await made.read()).description).toBe('new');
  },
  'network acl rename': async (world) => {
    const made = await acl(world);
    await world.lxc('network', 'acl', 'rename', made.name, `${made.name}x`);
    expect((await world.daemon.get(`/1.0/network-acls/${made.name}x`)).used_by).toEqual([]);
  },
  'network acl delete': async (world) => {
    const made = await acl(world);
    await world.lxc('network', 'acl', 'delete', made.name);
    await isGone(world, `/1.0/network-acls/${made.name}`);
  },
  'network acl rule add': async (world) => {
    const made = await acl(world);
    await rule(world, 'add', made.name);
    expect((await made.read()).ingress).toEqual([
      { action: 'allow', protocol: 'tcp', destination_port: '80', state: 'enabled' },
    ]);
  },
  'network acl rule remove': async (world) => {
    const made = await acl(world);
    await rule(world, 'add', made.name);
    await rule(world, 'remove', made.name);
    expect((await made.read()).ingress).toEqual([]);
  },
};

const rule = (world: World, verb: string, acl: string): Promise<string> =>
  world.lxc('network', 'acl', 'rule', verb, acl, 'ingress', 'action=allow', 'protocol=tcp', 'destination_port=80');

async function acl(world: World) {
  const made = `a${name()}`;
  await world.lxc('network', 'acl', 'create', made);
  const read = () => world.daemon.get(`/1.0/network-acls/${made}`);
  return { name: made, read, object: await read() };
}
