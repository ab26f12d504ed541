// Notifications of the event websocket (spec part 6).
import { Type, type Static } from 'typebox';

export const eventTypes = ['operation', 'logging', 'lifecycle'] as const;
export type EventType = (typeof eventTypes)[number];

export const Event = Type.Object({
  type: Type.Union(eventTypes.map((name) => Type.Literal(name))),
  timestamp: Type.String(),
  metadata: Type.Unknown(),
  location: Type.Optional(Type.String()),
  project: Type.Optional(Type.String()),
});
export interface Event {
  readonly type: EventType;
  /** RFC 3339 with nanoseconds. */
  readonly timestamp: string;
  readonly metadata: unknown;
  readonly location?: string;
  /** Absent: no project, and every listener gets it. */
  readonly project?: string;
}

export const LifecycleMetadata = Type.Object({
  action: Type.String(),
  source: Type.String(),
  context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  requestor: Type.Optional(Type.Object({ username: Type.String(), protocol: Type.String(), address: Type.String() })),
});
export type LifecycleMetadata = Static<typeof LifecycleMetadata>;

export const LoggingMetadata = Type.Object({
  level: Type.String(),
  message: Type.String(),
  context: Type.Record(Type.String(), Type.String()),
});
export type LoggingMetadata = Static<typeof LoggingMetadata>;
