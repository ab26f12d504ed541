// Which tunnel interfaces belong to a network: their names begin with its name.
import { expect, test } from 'vitest';
import { ownTunnels, tunnelMark } from '../../../../server/drivers/network/converge.ts';
import type { Link } from '../../../../server/drivers/network/ip-commands.ts';

const link = (name: string, master: string, alias = tunnelMark('mark', 'hash')): Link =>
  ({ name, master, alias }) as unknown as Link;

test('tunnels of a network whose name begins with the name of another one belong to that network alone', () => {
  const links = [
    link('lan-t', 'lan'),
    link('lan-lost', ''),
    link('lan-b-t', 'lan-b'),
    link('lan-x', 'lan', 'of somebody else'),
    link('other-t', 'other'),
  ];
  expect(ownTunnels('lan', 'mark', links).map(({ name }) => name)).toEqual(['lan-t', 'lan-lost']);
  expect(ownTunnels('lan-b', 'mark', links).map(({ name }) => name)).toEqual(['lan-b-t']);
});
