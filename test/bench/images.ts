// Creating containers from an image, the first and the following ones. Not for simulated servers.
import { takingTurns, type Group } from './group.ts';
import { withImage } from './image-containers.ts';

const count = 15;

export const imagesGroup: Group = async (context) =>
  withImage(context, 'containers from an image', async ({ servers, create }) => {
    context.say('images');
    const make = (server: (typeof servers)[0], index: number) => create(server, index);
    // An image may be unpacked once for all later containers: the first one has a row of its own.
    const first = await takingTurns(servers, { count: 1, block: 1 }, (server) => create(server, count), context.signal);
    const samples = await takingTurns(servers, { count, block: 1 }, make, context.signal);
    const row = { group: 'images', unit: 'ms' } as const;
    return [
      { ...row, what: 'create a container from an image just uploaded', samples: first },
      { ...row, what: 'create a container from an image', samples, timesLxd: 3 },
    ];
  });
