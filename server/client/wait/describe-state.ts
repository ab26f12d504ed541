// Describes the state of a container for users: addresses, and a summary line. Pure.
import type { ContainerState } from '../../api/container/container.ts';
import { statusCodes } from '../../api/status.ts';

/** Addresses that other machines can reach, of one interface or of all but the loopback. */
export function globalAddresses(
  state: ContainerState,
  nic?: string,
): readonly { readonly nic: string; readonly family: string; readonly address: string }[] {
  return Object.entries(state.network ?? {})
    .filter(([name]) => (nic === undefined ? name !== 'lo' : name === nic))
    .flatMap(([name, { addresses }]) =>
      addresses
        .filter(({ scope }) => scope === 'global')
        .map(({ family, address }) => ({ nic: name, family, address })),
    );
}

/** `Running, 12 processes, eth0 up without an address`. */
export function describeState(state: ContainerState): string {
  const nics = Object.entries(state.network ?? {})
    .filter(([nic]) => nic !== 'lo')
    .map(([nic, { state: link }]) => {
      const shown = globalAddresses(state, nic).map(({ address }) => address);
      return `${nic} ${link} ${shown.length === 0 ? 'without an address' : `with ${shown.join(', ')}`}`;
    });
  const interfaces = nics.length > 0 ? nics : state.status_code === statusCodes.running ? ['no interfaces'] : [];
  const processes = state.processes > 0 ? [`${state.processes} processes`] : [];
  return [state.status, ...processes, ...interfaces].join(', ');
}
