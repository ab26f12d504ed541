// Events as a busy fleet sends them: objects drift and are healed, so many a second.
import type { ControllerEvent, ObjectStatusName } from '../../../reconciler/controller/contract/index.ts';
import { seededRandom } from '../random.ts';
import type { PageServer } from './server.ts';

const beat = 20;
const statuses: readonly ObjectStatusName[] = ['drifted', 'syncing', 'synced', 'synced', 'failed'];

/** Returns its end. */
export function startStorm(server: PageServer, perSecond: number, set = 'web'): () => void {
  const random = seededRandom(7);
  const objects = server.world.objects.get(set) ?? [];
  let owed = 0;
  const timer = setInterval(() => {
    owed += (perSecond * beat) / 1000;
    const events: ControllerEvent[] = [];
    for (; owed >= 1; owed--) {
      const at = Math.floor(random.next() * objects.length);
      const before = objects[at];
      const status = statuses[Math.floor(random.next() * statuses.length)];
      if (before === undefined || status === undefined) continue;
      const object = { ...before, status };
      objects[at] = object;
      events.push({ type: 'object', set, object });
    }
    if (events.length > 0) server.emit(...events);
  }, beat);
  return () => clearInterval(timer);
}
