// The users of a network, which prevent its deletion and renaming.
import { errors } from '../../api/errors.ts';
import { containerUrl, profileUrl } from '../../api/project/project-names.ts';
import type { Records } from '../../records/records.ts';
import { nicNetworks } from '../shared/expand.ts';
import { othersWith } from '../shared/other-users.ts';
import { containersWith } from '../shared/used-by.ts';

/** URLs of the containers and profiles with a nic in the network. */
export function networkUsers(records: Records, name: string): readonly string[] {
  return [
    ...containersWith(records, 'network', name).map((entry) => containerUrl(entry.name)),
    ...othersWith(records, 'network', name).map((entry) => containerUrl(entry.name)),
    ...records.profiles
      .list()
      .filter(({ document }) => nicNetworks(document.devices).includes(name))
      .map((entry) => profileUrl(entry.name)),
  ];
}

export function refuseUsedNetwork(records: Records, name: string): void {
  const users = networkUsers(records, name);
  if (users.length > 0) throw errors.inUse('network', name, users);
}
