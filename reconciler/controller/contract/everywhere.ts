// Queries across all sets: search and timeline.
import { Type } from 'typebox';
import { says, Text, Time, type Shape } from './shape.ts';
import { DriftRecord, ObjectStatusName } from './status.ts';
import { RunRecord } from './runs.ts';

export const hitTypes = ['set', 'host', 'source', 'object'] as const;
export const SearchHit = Type.Object({
  type: Type.Enum(hitTypes),
  name: says('The set, host or source; of an object its address.'),
  set: Type.Optional(says('Of an object.')),
  host: Type.Optional(says('Of an object.')),
  status: Type.Optional(ObjectStatusName),
  text: Type.Optional(says('What it says of itself: a message, labels, a URL.')),
});
export type SearchHit = Shape<typeof SearchHit>;
export const SearchResult = Type.Object({
  hits: Type.Array(SearchHit, {
    description: 'Sets, hosts and sources first; then objects, those that are not synced first.',
  }),
  total: Type.Integer({ minimum: 0, description: 'How many match.' }),
});
export type SearchResult = Shape<typeof SearchResult>;

export const TimelineEntry = Type.Object({
  at: Time,
  set: Text,
  run: Type.Optional(RunRecord),
  drift: Type.Optional(DriftRecord),
});
export type TimelineEntry = Shape<typeof TimelineEntry>;
