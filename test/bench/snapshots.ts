// Snapshots of a container on btrfs, which both servers keep in a loop file. Not for simulated servers.
import { btrfsMissing } from '../../server/drivers/storage/btrfs/btrfs.ts';
import { takingTurns, type Group } from './group.ts';
import { pathOf, withImage } from './image-containers.ts';
import { names, type Server } from './servers.ts';

const count = 20;
const pool = `${names.pool}-btrfs`;

export const snapshotsGroup: Group = async (context) => {
  const { say, signal } = context;
  const missing = await btrfsMissing();
  if (missing !== undefined) {
    say(`skipped: snapshots on btrfs: ${missing}`);
    return [];
  }
  return withImage(context, 'snapshots on btrfs', async ({ servers, create }) => {
    say('snapshots');
    for (const { wire } of servers) {
      await wire.change('POST', '/1.0/storage-pools', { name: pool, driver: 'btrfs', config: { size: '1GB' } });
      const root = { type: 'disk', path: '/', pool };
      await wire.change('POST', '/1.0/profiles', { name: pool, config: {}, devices: { root } });
    }
    for (const server of servers) await create(server, 0, pool);
    const turns = (work: (server: Server, index: number) => Promise<unknown>) =>
      takingTurns(servers, { count, block: 1 }, work, signal);
    const take = await turns(({ wire }, index) =>
      wire.change('POST', `${pathOf(0)}/snapshots`, { name: `s${index}`, stateful: false }),
    );
    const restore = await turns(({ wire }, index) => wire.change('PUT', pathOf(0), { restore: `s${index}` }));
    const remove = await turns(({ wire }, index) => wire.change('DELETE', `${pathOf(0)}/snapshots/s${index}`));
    const row = { group: 'snapshots', unit: 'ms', timesLxd: 1.5 } as const;
    return [
      { ...row, what: 'take a snapshot on btrfs', samples: take },
      { ...row, what: 'restore a snapshot on btrfs', samples: restore },
      { group: 'snapshots', unit: 'ms', what: 'delete a snapshot on btrfs', samples: remove },
    ];
  });
};
