// The uses between live objects: the blast radius of an edit and the order of deletes.
import type { Container } from '../../../server/api/container/container.ts';
import { listedKinds } from '../../../server/api/kinds.ts';
import { addressOf, type Address, type JsonObject } from '../documents/document.ts';
import { coreKind } from '../kinds/index.ts';
import { contentsOf, isNotesUrl } from '../kinds/project.ts';
import { tableOf, type Observed } from '../documents/observed.ts';
import { addressOfUrl } from './object-urls.ts';
import { projectOfLive, scopesOf } from './project-scope.ts';

/** Addresses of users, by what they use. */
export type Usage = ReadonlyMap<Address, readonly string[]>;

export function findUsage(observed: Observed): Usage {
  const usage = new Map<Address, string[]>();
  const add = (used: Address, user: string): void => {
    const users = usage.get(used);
    if (users === undefined) usage.set(used, [user]);
    else if (users.at(-1) !== user) users.push(user);
  };
  const { keyOf } = scopesOf(observed);
  for (const kind of listedKinds) {
    const { liveReferences } = coreKind(kind);
    if (liveReferences === undefined) continue;
    for (const [name, { object }] of tableOf(observed, kind)) {
      const user = addressOf(kind, name);
      const project = projectOfLive(observed, object);
      for (const used of liveReferences(object as JsonObject))
        add(addressOf(used.kind, keyOf(used.kind, used.name, project)), user);
    }
  }
  const base = observed.base ?? 'default';
  for (const [name, { object }] of observed.projects)
    for (const url of contentsOf(object).filter((one) => !isNotesUrl(one)))
      add(addressOf('project', name), addressOfUrl(url, base, 'default') ?? url);
  for (const users of usage.values()) users.sort();
  return usage;
}

const runningCodes = new Set([101, 103, 106, 109, 110, 111]);
/** Frozen counts as running: the processes are there. */
export const isRunning = (container: Container): boolean => runningCodes.has(container.status_code);
