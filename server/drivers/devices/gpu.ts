// Graphics cards of the host in containers: their nodes in /dev/dri, and those of NVIDIA's driver beside them.
import { join } from 'node:path';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { driverErrors } from '../driver-error.ts';
import type { NodeRun } from '../device-parts.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from './device.ts';
import { type HostPaths, linkName, list, readText } from './host-paths.ts';
import { nodeRun, sameId, set } from './nodes.ts';

export interface GpuCard {
  /** Card number; undefined for a card without a node in /dev/dri. */
  readonly id: string | undefined;
  readonly pci: string;
  readonly vendorId: string;
  readonly productId: string;
  readonly nodes: readonly { readonly name: string; readonly major: number; readonly minor: number }[];
  /** Number assigned by NVIDIA's driver. */
  readonly nvidia: number | undefined;
}

export const gpuDevice: DeviceHandler = {
  followsHardware: () => true,
  start: async (context: DeviceContext): Promise<DeviceRun> => {
    const { device, properties, host } = context;
    const chosen = gpuCards(host).filter((card) => fits(card, properties));
    if (chosen.length === 0) {
      const wanted = ['pci', 'id', 'vendorid', 'productid'].flatMap((name) =>
        set(properties[name]) === undefined ? [] : [`${name} ${properties[name]}`],
      );
      throw driverErrors.notFound(
        `gpu ${device}: the host has no graphics card${wanted.length === 0 ? '' : ` with ${wanted.join(', ')}`}`,
      );
    }
    const nodes = chosen.flatMap((card) => [
      ...card.nodes.map(({ name, major, minor }) =>
        nodeRun(device, properties, `/dev/dri/${name}`, { kind: 'char', major, minor }),
      ),
      ...nvidiaNodes(device, properties, host, card),
    ]);
    return { ...nothing, nodes: unique(nodes), watch: [join(host.dev, 'dri')] };
  },
};

function fits(card: GpuCard, properties: ConfigMap): boolean {
  const pci = set(properties['pci']);
  if (pci !== undefined) return longPci(pci) === longPci(card.pci);
  const id = set(properties['id']);
  if (id !== undefined) return card.id === id;
  return sameId(properties['vendorid'], card.vendorId) && sameId(properties['productid'], card.productId);
}

/** The domain may be omitted, or written with more zeros. */
const longPci = (address: string): string => {
  const [last = '', bus = '', domain = '0'] = address.toLowerCase().split(':').toReversed();
  return `${Number.parseInt(domain, 16).toString(16).padStart(4, '0')}:${bus}:${last}`;
};

/** Every card known to the kernel's graphics drivers or to NVIDIA's. */
export function gpuCards(host: HostPaths): readonly GpuCard[] {
  const cards = new Map<string, GpuCard>();
  const drm = join(host.sys, 'class/drm');
  for (const name of list(drm)) {
    const [major, minor] = readText(join(drm, name, 'dev'))
      .split(':')
      .map(Number);
    if (!/^(card|renderD|controlD)[0-9]+$/.test(name) || major === undefined || minor === undefined) continue;
    const pci = linkName(join(drm, name, 'device'));
    const before = cards.get(pci) ?? newCard(host, pci);
    const id = /^card([0-9]+)$/.exec(name)?.[1] ?? before.id;
    cards.set(pci, { ...before, id, nodes: [...before.nodes, { name, major, minor }] });
  }
  for (const pci of list(join(host.sys, 'bus/pci/drivers/nvidia'))) {
    if (/^[0-9a-f]{4,8}:/.test(pci) && !cards.has(pci)) cards.set(pci, newCard(host, pci));
  }
  return [...cards.values()].map((card) => ({ ...card, nvidia: nvidiaMinor(host, card.pci) }));
}

const newCard = (host: HostPaths, pci: string): GpuCard => ({
  id: undefined,
  pci,
  vendorId: readText(join(host.sys, 'bus/pci/devices', pci, 'vendor')),
  productId: readText(join(host.sys, 'bus/pci/devices', pci, 'device')),
  nodes: [],
  nvidia: undefined,
});

/** The number in /dev/nvidiaN follows the order of the driver's cards. */
function nvidiaMinor(host: HostPaths, pci: string): number | undefined {
  const bound = list(join(host.sys, 'bus/pci/drivers/nvidia')).filter((name) => /^[0-9a-f]{4,8}:/.test(name));
  const index = bound.indexOf(pci);
  return index < 0 ? undefined : index;
}

/** The card's nodes and those shared by all of NVIDIA's cards. */
function nvidiaNodes(device: string, properties: ConfigMap, host: HostPaths, card: GpuCard): readonly NodeRun[] {
  if (card.nvidia === undefined) return [];
  const shared = list(host.dev).filter((name) => /^nvidia(ctl|-uvm|-uvm-tools|-modeset)$/.test(name));
  return [`nvidia${card.nvidia}`, ...shared].flatMap((name) => {
    const numbers = host.node(join(host.dev, name));
    return numbers === undefined ? [] : [nodeRun(device, properties, `/dev/${name}`, numbers)];
  });
}

const unique = (nodes: readonly NodeRun[]): readonly NodeRun[] => [
  ...new Map(nodes.map((node) => [node.target, node])).values(),
];
