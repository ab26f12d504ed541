// Action gantry_container_restart: restarts a container, or starts it when it is stopped.
import { integer, text } from '../framework/attribute.ts';
import { longestStop, stopSeconds } from '../resources/container/container-attributes.ts';
import {
  awaitAddress,
  restartContainer,
  startContainer,
  stopContainer,
} from '../resources/container/container-power.ts';
import { isUp } from '../../server/client/facts/containers.ts';
import { gantryAction } from '../resources/shared/common-attributes.ts';

export const containerRestart = gantryAction({
  typeName: 'gantry_container_restart',
  doc: 'Restarts a container, or starts it when it is stopped. It ends when the container runs and has the address that its network gives.',
  timeoutMs: 15 * 60_000 + longestStop * 1000,
  attributes: {
    container: text({ doc: 'Name of the container.', required: true }),
    stop_timeout: integer({
      doc: 'Seconds for a clean stop, after which it is killed. 0: at once.',
      default: 30,
      check: stopSeconds,
    }),
  },
  async invoke({ container, stop_timeout: seconds }, context) {
    const { metadata } = await context.client.client.get('container', container, context.signal);
    if (isUp(metadata.status) && metadata.ephemeral) {
      context.sendProgress(`Restarting ${container}`);
      await restartContainer(context, metadata, seconds ?? 30);
    } else {
      if (isUp(metadata.status)) {
        context.sendProgress(`Stopping ${container}`);
        await stopContainer(context, metadata, seconds ?? 30);
      }
      context.sendProgress(`Starting ${container}`);
      await startContainer(context, container);
    }
    await awaitAddress(context, container);
  },
});
