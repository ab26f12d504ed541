// The interface of the controller's engine for the HTTP API, metrics and the page.
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

  // `by`: the user, as the history shows it.
  sync(set: string, request: SyncRequest, by: string): Promise<Operation>;
  suspend(set: string, request: SuspendRequest, by: string): Promise<Suspension>;
  resume(set: string, request: ResumeRequest, by: string): Promise<Resumed>;
  rollback(set: string, request: RollbackRequest, by: string): Promise<Operation>;
  /** Lets the revision delete more than the limit of the set. */
  approvePrune(set: string, request: PruneRequest, by: string): Promise<Operation>;
  /** Approves the waiting plans. Refuses their authors and requesters. */
  approve(set: string, request: ApproveRequest, who: Person): Promise<ApprovalStatus>;
  /** Changes nothing. */
  preview(set: string, request: PreviewRequest, signal?: AbortSignal): Promise<Preview>;

  /** Checks a source after a webhook. False: there is no such source. */
  lookAt(source: string): boolean;
  /** A connection to the host for a console. The caller does not close it. */
  connection(host: string): Promise<Client>;
  /** Every set was compared, or another controller is active. */
  isReady(): boolean;
  /** Calls the listener during state changes, so it must not throw or call back. Returns a function that unsubscribes it. */
  subscribe(listener: (event: ControllerEvent) => void): () => void;
}

/** The identity of a caller, to compare it with the author of a plan. */
export interface Person {
  readonly name: string;
  readonly mails: readonly string[];
}

export type ControllerProblem = 'forbidden' | 'not-found' | 'bad-request' | 'conflict' | 'unavailable';

/** A request that cannot be served; the message says why and what to do. */
export class ControllerError extends Error {
  override readonly name = 'ControllerError';
  readonly problem: ControllerProblem;

  constructor(problem: ControllerProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
