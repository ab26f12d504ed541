// The reads of the address check before a start: containers on the same networks with the same address, and no others.
import { describe, expect, test } from 'vitest';
import type { ContainerDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { NetworkHosts, type NetworkHostsDeps } from '../../../server/services/networks/network-hosts.ts';
import { ContainerView } from '../../../server/services/shared/container-view.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';

const crowd = 50;

function documentWith(nic?: Readonly<Record<string, string>>): ContainerDocument {
  const devices = nic === undefined ? {} : { eth0: { type: 'nic', nictype: 'bridged', ...nic } };
  return { profiles: [], config: {}, devices, pool: 'p' } as unknown as ContainerDocument;
}

/** Fifty containers without nics, one on another network, and three on `n`, two of which have one address. */
async function world(): Promise<{ readonly hosts: NetworkHosts; readonly probed: string[] }> {
  const records = await Records.open(openMemoryStore());
  await records.commit((changes) => {
    for (let index = 0; index < crowd; index += 1) changes.put('containers', `c${index}`, documentWith());
    changes.put('containers', 'far', documentWith({ parent: 'other', 'ipv4.address': '10.0.0.5' }));
    changes.put('containers', 'one', documentWith({ parent: 'n', 'ipv4.address': '10.0.0.5' }));
    changes.put('containers', 'same', documentWith({ parent: 'n', 'ipv4.address': '10.0.0.5' }));
    changes.put('containers', 'next', documentWith({ parent: 'n', 'ipv4.address': '10.0.0.6' }));
  });
  const probed: string[] = [];
  const runtime = {
    probe: (name: string) => {
      probed.push(name);
      return { status: 'running', initPid: 1 };
    },
  } as unknown as NetworkHostsDeps['runtime'];
  const network = {} as NetworkHostsDeps['network'];
  const view = new ContainerView({ records, runtime });
  return { hosts: new NetworkHosts({ records, runtime, network, view, log: silentLog }), probed };
}

describe('the check of addresses before a start', () => {
  test('asks about no other container when the container has no nic', async () => {
    const { hosts, probed } = await world();
    hosts.refuseAddresses('c7');
    expect(probed).toEqual([]);
  });

  test('asks only about containers with the same address on the same network', async () => {
    const { hosts, probed } = await world();
    hosts.refuseAddresses('next');
    expect(probed).toEqual([]);
    expect(() => hosts.refuseAddresses('one')).toThrow(/container one/);
    expect(probed).toEqual(['same']);
  });
});
