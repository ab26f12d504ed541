// The controller for a caller with a limited scope: hides all other sets.
import { ControllerError, type Controller } from '../../controller.ts';
import { aboutLine, isAbout, overviewIn, type Scope } from './scope.ts';

type Reading = Pick<Controller, 'overview' | 'objects' | 'object' | 'drift' | 'history' | 'operations' | 'logs'>;

const maxLines = 5000;

export function seenController(controller: Controller, scope: Scope): Reading {
  if (scope === undefined) return controller;
  const overview = () => overviewIn(controller.overview(), scope);
  const seen = (set: string): string => {
    if (scope(set)) return set;
    const known = overview().sets.map(({ name }) => name);
    throw new ControllerError('not-found', `there is no set ${set}: there are ${known.slice(0, 10).join(', ')}`);
  };
  return {
    overview,
    objects: (set, query) => controller.objects(seen(set), query),
    object: async (set, host, address) => controller.object(seen(set), host, address),
    drift: (set, query) => controller.drift(seen(set), query),
    history: (set, query) => controller.history(seen(set), query),
    operations: () => controller.operations().filter(({ set }) => scope(set)),
    logs: ({ limit = 500, ...query } = {}) => {
      const known = overview();
      const lines = controller.logs({ ...query, limit: maxLines });
      return lines.filter((line) => isAbout(aboutLine(line), known, scope)).slice(-limit);
    },
  };
}
