// The daemon's parts for serving requests.
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
  /** Why the server cannot take this request now. */
  readonly refusal: (endpoint: Endpoint) => AppError | undefined;
  /** Throws AppError notFound if there is no such project. */
  readonly namesIn: (project: string) => ProjectNames;
  readonly sightOf: (caller: Caller) => Sight;
  readonly loop: Pick<EventLoopMonitor, 'enter'>;
  /** Records spans of requests; absent: tracing is off. */
  readonly tracer: () => Tracer | undefined;
  readonly countAnswer: (endpoint: string, status: number) => void;
  /** Anyone may read metrics: the current core.metrics_authentication. */
  readonly isMetricsOpen: () => boolean;
  readonly allowedOrigin: () => string;
  /** Records that the client with this certificate, or this user, started the operation, which ends when it is no longer trusted. */
  readonly claimOperation: (id: string, owner: OperationOwner, project: string) => void;
  /** Calls `end` when the user is no longer trusted with the project. Returns the function that stops following. */
  readonly followUser: (subject: string, project: string, end: () => void) => () => void;
  readonly cluster: Cluster;
  readonly placing: Pick<Placing, 'memberFor' | 'isLimited'>;
}
