// `gantry info NAME`: everything about one container, on one screen.
import type { Container, ContainerState } from '../../../../server/api/container/container.ts';
import type { Snapshot } from '../../../../server/api/container/snapshot.ts';
import { formatBinary } from '../../../../server/api/text/byte-size.ts';
import { containerPath } from '../../../../server/api/names.ts';
import type { Client } from '../../../../server/client/client.ts';
import { globalAddresses } from '../../../../server/client/wait/describe-state.ts';
import { parseContainer } from '../../flags/parse-values.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { utcSecondOrNever } from '../../../core/text/times.ts';
import { withClient } from '../../session/connect.ts';
import type { Run } from '../../session/context.ts';
import { ownersOf, ownerText, type Owner } from './owners.ts';
import { refuseMissing } from '../../errors/missing-object.ts';

interface Facts {
  readonly container: Container;
  readonly state: ContainerState;
  readonly snapshots: readonly Snapshot[];
  readonly owners: readonly Owner[];
}

export const info: Run<HostOptions> = async (context, [word = '']) => {
  const name = parseContainer(word, 'gantry info', 'gantry snapshot show');
  const facts = await withClient(context, (client) => read(client, name, context.stop));
  const { container, state, snapshots, owners } = facts;
  context.jsonObjects({ kind: 'container', ...container, state, snapshots, owners });
  context.out(infoText(facts));
};

async function read(client: Client, name: string, signal: AbortSignal): Promise<Facts> {
  const snapshotsCall = { method: 'GET', path: containerPath(name, 'snapshots'), query: { recursion: '1' } } as const;
  const [{ metadata: container }, { metadata: state }, { metadata: snapshots }] = await Promise.all([
    client.get('container', name, signal),
    client.containerState(name, signal),
    client.http.send<readonly Snapshot[] | null>(snapshotsCall, signal),
  ]).catch(refuseMissing('container', name));
  return { container, state, snapshots: snapshots ?? [], owners: ownersOf('container', name, container) };
}

/** Rows of a name and a text; those without a text are left out. */
export function infoText({ container, state, snapshots, owners }: Facts): string {
  const config: Partial<Record<string, string>> = container.config;
  const limit = container.expanded_config['limits.memory'];
  const rows: readonly (readonly [string, string])[] = [
    ['State', state.status + (state.pid > 0 ? ` (pid ${state.pid})` : '')],
    ['Declared by', ownerText(owners)],
    ['Image', config['image.description'] ?? config['volatile.base_image']?.slice(0, 12) ?? ''],
    ['Profiles', container.profiles.join(', ')],
    ['Created', utcSecondOrNever(container.created_at)],
    ['Last used', utcSecondOrNever(container.last_used_at)],
    ['Member', container.location === 'none' ? '' : container.location],
    [
      'Addresses',
      globalAddresses(state)
        .map(({ address }) => address)
        .join(' '),
    ],
    ['Memory', state.pid > 0 ? `${formatBinary(state.memory.usage)}${limit === undefined ? '' : ` of ${limit}`}` : ''],
    ['Processor', state.pid > 0 ? `${(state.cpu.usage / 1e9).toFixed(1)} s since its start` : ''],
    ['Processes', state.pid > 0 ? String(state.processes) : ''],
    ['Disks', disksText(state)],
    [
      'Devices',
      Object.entries(container.expanded_devices)
        .map(([name, { type }]) => `${name} (${type})`)
        .join(', '),
    ],
    ['Snapshots', snapshots.map(({ name, created_at }) => `${name}  ${utcSecondOrNever(created_at)}`).join('\n')],
  ];
  const lines = rows.filter(([, text]) => text !== '').map(([name, text]) => rowText(name, text));
  return [`container/${container.name}`, ...lines].join('\n');
}

const width = 13;
const rowText = (name: string, text: string): string =>
  `  ${`${name}:`.padEnd(width)}${text.split('\n').join(`\n${' '.repeat(width + 2)}`)}`;

const disksText = ({ disk }: ContainerState): string =>
  Object.entries(disk)
    .flatMap(([name, { usage }]) => (usage > 0 ? [`${name} ${formatBinary(usage)}`] : []))
    .join(', ');
