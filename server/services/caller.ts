// Who asks, and for which project: passed to use cases that log, notify or decide by it.
import type { CallerClass } from '../api/endpoints/endpoint.ts';
import { defaultProject } from '../api/project/project-names.ts';
import type { Requestor } from '../events/hub.ts';

export interface Caller {
  readonly class: CallerClass;
  readonly requestor: Requestor;
  /** The project that the request names. */
  readonly project: string;
}

/** The daemon acting on its own (autostart, recovery, a container that ended by itself). */
export const daemonCaller: Caller = {
  class: 'trusted',
  requestor: { username: 'gantryd', protocol: 'internal', address: '' },
  project: defaultProject,
};
