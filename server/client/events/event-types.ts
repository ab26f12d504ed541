// The event types, without the schemas of server/api/event.ts: loading those would slow down every start of the CLI.
import type { EventType } from '../../api/event.ts';

export type { Event, EventType } from '../../api/event.ts';
export const eventTypes = ['operation', 'logging', 'lifecycle'] as const satisfies readonly EventType[];
