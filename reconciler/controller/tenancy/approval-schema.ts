// The schema of `approval`, of a set and of a tenant in gantry.yaml.
import type { Static } from 'typebox';
import { duration, object, oneOf, optional } from '../contract/words.ts';

export const ApprovalSchema = object({
  for: oneOf(
    ['delete', 'disrupt', 'all'],
    'delete: plans that delete or rebuild. disrupt: also those that stop, restart or move. all: also what a new revision brings.',
  ),
  expires: optional(duration('How long an approval holds; default 1d: 90s, 5m, 1h30m, 2d; a number is seconds.')),
});
export type WrittenApproval = Static<typeof ApprovalSchema>;
