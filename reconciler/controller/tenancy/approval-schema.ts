// The schema of `approval`, of a set and of a tenant in gantry.yaml.
import { Type, type Static } from 'typebox';

export const ApprovalSchema = Type.Object(
  {
    for: Type.Union([Type.Literal('delete'), Type.Literal('disrupt'), Type.Literal('all')], {
      description:
        'delete: plans that delete or rebuild. disrupt: also those that stop, restart or move. all: also what a new revision brings.',
    }),
    expires: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'How long an approval holds; default 1d: 90s, 5m, 1h30m, 2d; a number is seconds.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type WrittenApproval = Static<typeof ApprovalSchema>;
