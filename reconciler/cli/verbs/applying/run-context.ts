// The context that the parts of `gantry run` share: options, settings, and how to connect to a host.
import type { Client } from '../../../../server/client/client.ts';
import type { Tracer } from '../../../../server/lib/shared/spans.ts';
import type { Window } from '../../../controller/config/config.ts';
import type { Context } from '../../session/context.ts';
import type { WatchTimes } from '../../watch/watch-times.ts';
import type { RunVerbOptions } from './applying-verbs.ts';

export type RunContext = Context<RunVerbOptions>;

export interface RunSettings extends WatchTimes {
  readonly windows: readonly Window[];
  /** Traces each repair. */
  readonly tracer?: Tracer | undefined;
}

export interface RunHostsDeps {
  readonly context: RunContext;
  readonly isFleet: boolean;
  /** Opens a connection to the host of a context. */
  readonly connect: (own: RunContext) => Promise<Client>;
  readonly settings: RunSettings;
  readonly end: AbortSignal;
  /** Ends everything with an error. */
  readonly fail: (error: unknown) => void;
}
