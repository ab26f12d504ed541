// The engine of a controller as its edges see it: the HTTP API, metrics, the page.
import type { Client } from '../../server/client/client.ts';
import type {
  ApprovalStatus,
  ApproveRequest,
  ControllerEvent,
  DriftRecord,
  LogLevel,
  LogLine,
  ObjectDetail,
  ObjectPage,
  Operation,
  Overview,
  Preview,
  PreviewRequest,
  PruneRequest,
  ResumeRequest,
  Resumed,
  RollbackRequest,
  RunRecord,
  SuspendRequest,
  Suspension,
  SyncRequest,
} from './contract/index.ts';

export interface ObjectQuery {
  readonly host?: string;
  readonly status?: string;
  /** `next` of the page before. */
  readonly after?: string;
  readonly limit?: number;
}

export interface Controller {
  overview(): Overview;
  objects(set: string, query?: ObjectQuery): ObjectPage;
  object(set: string, host: string, address: string): Promise<ObjectDetail>;
  /** Newest first. */
  drift(set: string, query?: { readonly since?: string; readonly limit?: number }): readonly DriftRecord[];
  /** Newest first. */
  history(set: string, query?: { readonly limit?: number }): readonly RunRecord[];
  /** Newest first. */
  operations(): readonly Operation[];
  /** Oldest first: lines of that level and above. */
  logs(query?: { readonly set?: string; readonly level?: LogLevel; readonly limit?: number }): readonly LogLine[];

  // `by`: the user who asks, as the history shows it.
  sync(set: string, request: SyncRequest, by: string): Promise<Operation>;
  suspend(set: string, request: SuspendRequest, by: string): Promise<Suspension>;
  resume(set: string, request: ResumeRequest, by: string): Promise<Resumed>;
  rollback(set: string, request: RollbackRequest, by: string): Promise<Operation>;
  /** The revision may delete more than the limit of the set. */
  approvePrune(set: string, request: PruneRequest, by: string): Promise<Operation>;
  /** The plans that wait are carried out. Refused to those who wrote or asked for them. */
  approve(set: string, request: ApproveRequest, who: Person): Promise<ApprovalStatus>;
  /** Changes nothing. */
  preview(set: string, request: PreviewRequest, signal?: AbortSignal): Promise<Preview>;

  /** A webhook said that the source has news. False: there is no such source. */
  lookAt(source: string): boolean;
  /** A connection to the host for a console. The caller does not close it. */
  connection(host: string): Promise<Client>;
  /** Every set was looked at, or another controller is active. */
  isReady(): boolean;
  /** The listener must not throw; it is called while state changes, so it only takes the event. Returns its end. */
  subscribe(listener: (event: ControllerEvent) => void): () => void;
}

/** Who asks, as far as it matters whether it is the same person. */
export interface Person {
  readonly name: string;
  readonly mails: readonly string[];
}

export type ControllerProblem = 'forbidden' | 'not-found' | 'bad-request' | 'conflict' | 'unavailable';

/** A request that cannot be served; the message says why and what to do. */
export class ControllerError extends Error {
  override readonly name = 'ControllerError';
  readonly problem: ControllerProblem;

  constructor(problem: ControllerProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
