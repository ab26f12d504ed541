// Which tunnel interfaces belong to a network, and what converging does with those that are there already.
import { expect, test } from 'vitest';
import { planNetwork } from '../../../../server/drivers/network/config.ts';
import type { Link } from '../../../../server/drivers/network/ip-commands.ts';
import { ownTunnels, tunnelLines } from '../../../../server/drivers/network/tunnels.ts';

const mark = 'gantry:0123abcd';
const oldAlias = `${mark}:tunnel:0123456789ab`;
const link = (name: string, master: string, alias: string): Link => ({ name, master, alias }) as unknown as Link;
const bridge = (name: string): Link => link(name, '', mark);
const namesOf = (network: string, links: readonly Link[]): string[] =>
  ownTunnels(network, mark, links).map(({ name }) => name);

test('the alias of a tunnel names its network, whatever its master is', () => {
  const links = [
    bridge('lan'),
    link('lan-t', 'lan', `${oldAlias}:lan`),
    link('lan-lost', '', `${oldAlias}:lan`),
    link('lan-b-t', 'lan-b', `${oldAlias}:lan-b`),
    link('lan-b-lost', '', `${oldAlias}:lan-b`),
    link('lan-b-o', 'ovs-system', `${oldAlias}:lan-b`),
    link('lan-b-x', 'lan', `${oldAlias}:lan`),
    link('lan-x', 'lan', 'of somebody else'),
    link('lan-y', 'lan', 'gantry:ffffffff:tunnel:0123456789ab:lan'),
  ];
  expect(namesOf('lan', links)).toEqual(['lan-t', 'lan-lost', 'lan-b-x']);
  expect(namesOf('lan-b', links)).toEqual(['lan-b-t', 'lan-b-lost', 'lan-b-o']);
});

test('a tunnel of an earlier release belongs to the network of its master, else to the one with the longest name', () => {
  const links = [
    bridge('lan'),
    bridge('lan-b'),
    bridge('lan-b-c'),
    link('lan-t', 'lan', oldAlias),
    link('lan-lost', '', oldAlias),
    link('lan-b-t', 'lan-b', oldAlias),
    link('lan-b-lost', '', oldAlias),
    link('lan-b-x', 'lan', oldAlias),
    link('lan-b-o', 'ovs-system', oldAlias),
  ];
  expect(namesOf('lan', links)).toEqual(['lan-t', 'lan-lost', 'lan-b-x']);
  expect(namesOf('lan-b', links)).toEqual(['lan-b-t', 'lan-b-lost']);
});

test('a tunnel of a network whose bridge is gone is still its own', () => {
  const links = [bridge('lan'), link('lan-b-t', '', oldAlias)];
  expect(namesOf('lan-b', links)).toEqual(['lan-b-t']);
});

const plan = planNetwork({
  name: 'lan',
  config: { 'tunnel.t.protocol': 'vxlan', 'tunnel.t.local': '198.18.0.1', 'tunnel.t.remote': '198.18.0.2' },
});
const made = tunnelLines(plan, mark, [], '');
const aliasNow =
  made
    .find((line) => line.startsWith('link set dev lan-t alias '))
    ?.split(' ')
    .at(-1) ?? '';

test('a tunnel that fits stays, and one that lost its master is made again', () => {
  expect(aliasNow).toMatch(/^gantry:0123abcd:tunnel:[0-9a-f]{12}:lan$/);
  expect(tunnelLines(plan, mark, [link('lan-t', 'lan', aliasNow)], '')).toEqual([]);
  expect(tunnelLines(plan, mark, [link('lan-t', '', aliasNow)], '')).toEqual(['link del dev lan-t', ...made]);
});

test('a fitting tunnel of an earlier release gets its new alias, and is not made again', () => {
  const before = link('lan-t', 'lan', aliasNow.slice(0, aliasNow.lastIndexOf(':')));
  expect(tunnelLines(plan, mark, [bridge('lan'), before], '')).toEqual([`link set dev lan-t alias ${aliasNow}`]);
});
