// The caller of a request and its project, for use cases that log, notify or decide by it.
import type { CallerClass } from '../../api/endpoints/endpoint.ts';
import { defaultProject } from '../../api/project/project-names.ts';
import type { Requestor } from '../../events/hub.ts';

export interface Caller {
  readonly class: CallerClass;
  /** The only projects that a restricted caller may use. */
  readonly projects?: readonly string[];
  readonly requestor: Requestor;
  /** The project that the request names. */
  readonly project: string;
}

/** Whether the server trusts the client, for all of it or for some projects. */
export const isTrustedCaller = (caller: Pick<Caller, 'class'>): boolean =>
  caller.class === 'trusted' || caller.class === 'restricted';

/** Another member of the cluster sends its own request: this one does only its own part. */
export const isOfMember = ({ requestor }: Caller): boolean => requestor.protocol === 'cluster';

/** The daemon acting on its own (autostart, recovery, a container that ended by itself). */
export const daemonCaller: Caller = {
  class: 'trusted',
  requestor: { username: 'gantryd', protocol: 'internal', address: '' },
  project: defaultProject,
};
