// Everything that serving a request needs from the daemon.
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import type { AppError } from '../../api/errors.ts';
import type { Sight } from '../../auth/restricted-view.ts';
import type { EventLoopMonitor } from '../../lib/event-loop-monitor.ts';
import type { Tracer } from '../../lib/shared/spans.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { Placing } from '../../services/cluster/placing.ts';
import type { Caller } from '../../services/shared/caller.ts';
import type { ProjectNames } from '../../services/shared/project-scope.ts';
import type { AnswerDeps } from '../answer.ts';
import type { Bearers, Identify } from '../caller-identity.ts';
import type { RouteTable } from '../route.ts';

export type OperationOwner = { readonly fingerprint: string } | { readonly subject: string };

export interface AppDeps extends AnswerDeps {
  readonly routes: RouteTable;
  readonly identify: Identify;
  readonly bearers: Bearers;
  /** Why the server cannot take this request at the moment. */
  readonly refusal: (endpoint: Endpoint) => AppError | undefined;
  /** Throws AppError notFound when there is no such project. */
  readonly namesIn: (project: string) => ProjectNames;
  /** What a restricted caller may know of. */
  readonly sightOf: (caller: Caller) => Sight;
  readonly loop: Pick<EventLoopMonitor, 'enter'>;
  /** Records spans of requests; absent: nothing is traced. */
  readonly tracer: () => Tracer | undefined;
  /** An endpoint answered with this HTTP status. */
  readonly countAnswer: (endpoint: string, status: number) => void;
  /** Everybody may read metrics: core.metrics_authentication as it is now. */
  readonly isMetricsOpen: () => boolean;
  /** core.https_allowed_origin as it is now. */
  readonly allowedOrigin: () => string;
  /** The operation was started by the client with this certificate or by this user, and ends when they are no longer trusted. */
  readonly claimOperation: (id: string, owner: OperationOwner, project: string) => void;
  readonly cluster: Cluster;
  readonly placing: Pick<Placing, 'memberFor' | 'isLimited'>;
}
