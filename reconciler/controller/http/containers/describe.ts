// Describes a container for the page, from its host's answers. Pure.
import type { ContainerFull } from '../../../../server/api/container/container.ts';
import type { ContainerFigures, ContainerView } from '../../contract/index.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type State = NonNullable<ContainerFull['state']>;

export function describeContainer(full: ContainerFull): ContainerView {
  const { name, project, status, description, profiles, state, snapshots } = full;
  return {
    name,
    ...withoutUndefined({ project }),
    status,
    ...(description === '' ? {} : { description }),
    addresses: state === null ? [] : addressesOf(state),
    profiles: [...profiles],
    // A stopped container has only zeros.
    ...(state === null || state.pid <= 0 ? {} : { figures: figuresOf(state) }),
    snapshots: (snapshots ?? []).map((one) => ({
      name: one.name.split('/').at(-1) ?? one.name,
      createdAt: one.created_at,
      ...(one.description === '' || one.description === undefined ? {} : { description: one.description }),
      isStateful: one.stateful,
    })),
  };
}

const linksOf = ({ network }: State) => Object.entries(network ?? {}).filter(([name]) => name !== 'lo');

const addressesOf = (state: State): string[] =>
  linksOf(state).flatMap(([, { addresses }]) =>
    addresses.filter(({ scope }) => scope === 'global').map(({ address }) => address),
  );

function figuresOf(state: State): ContainerFigures {
  const counters = linksOf(state).map(([, link]) => link.counters);
  const sum = (one: 'bytes_received' | 'bytes_sent'): number =>
    counters.reduce((all, each) => all + Math.max(0, each[one]), 0);
  const disk = state.disk['root']?.usage;
  return {
    cpuNs: Math.max(0, state.cpu.usage),
    memoryBytes: Math.max(0, state.memory.usage),
    memoryPeakBytes: Math.max(0, state.memory.usage_peak),
    ...(disk === undefined || disk < 0 ? {} : { diskBytes: disk }),
    receivedBytes: sum('bytes_received'),
    sentBytes: sum('bytes_sent'),
    processes: Math.max(0, state.processes),
  };
}
