// Serializes changes of one container or image: its resource and those of its devices replace the same object, LXD compares ETags before it
// waits for the previous change, and a snapshot that it takes meanwhile fails that change.
import type { Activity } from '../../connection/activity.ts';
import { needed } from '../../connection/entry-or-create.ts';
import type { Link } from '../../connection/link.ts';

const turns = new WeakMap<Activity, Map<string, Promise<unknown>>>();

/** Runs `change` when all earlier changes of this object through this provider have ended. `object`: a container by its name, or `image ...`. */
export async function inTurn<T>(link: Link, object: string, change: () => Promise<T>): Promise<T> {
  const ofServer = turns.get(link.activity) ?? new Map<string, Promise<unknown>>();
  turns.set(link.activity, ofServer);
  const key = JSON.stringify([link.project ?? '', object]);
  const mine = needed(ofServer, key, () => Promise.resolve()).then(change, change);
  ofServer.set(key, mine);
  try {
    return await mine;
  } finally {
    if (ofServer.get(key) === mine) ofServer.delete(key);
  }
}
